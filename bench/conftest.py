"""What the pytest-benchmark suites share: `pytest bench` from the repository root."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from harness import machine
from harness.pool import limit_threads

Make = Callable[..., Any]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Peers may warn about what they like; here only times count."""
    for item in items:
        item.add_marker(pytest.mark.filterwarnings("default"))


@pytest.fixture(scope="session")
def threads() -> int:
    return min(2, machine.cores())


@pytest.fixture(scope="module")
def make(threads: int) -> Make:
    """Makes a contender with its threads set; skips the test when its library is not installed."""

    def made(contender: type, *arguments: Any) -> Any:
        try:
            one = contender(*arguments)
        except ModuleNotFoundError as error:
            pytest.skip(f"not installed: {error}")
        limit_threads(threads)
        one.set_threads(threads)
        return one

    return made
