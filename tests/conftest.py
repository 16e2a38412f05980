"""What all tests share."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

# The oracles are modules that tests import; they are not part of the package.
sys.path.insert(0, str(Path(__file__).parent))

SHARED = Path(__file__).parent.parent.parent / "shared"


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The folder of real corpora beside the repository; tests that need it skip without it."""
    folder = SHARED / "corpora"
    if not folder.is_dir():
        pytest.skip(f"no real corpora at {folder}")
    return folder
