"""What all tests share."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

SHARED = Path(__file__).parent.parent.parent / "shared"

# The same examples on every run: a failure is a change in the code, not in the dice.
settings.register_profile("fastrecall", derandomize=True, deadline=None, database=None)
settings.load_profile("fastrecall")


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The folder of real corpora beside the repository; tests that need it skip without it."""
    folder = SHARED / "corpora"
    if not folder.is_dir():
        pytest.skip(f"no real corpora at {folder}")
    return folder
