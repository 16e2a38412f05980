"""Whatever befalls a process or a file: a clear sentence or the right result, and nothing lost."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

if os.name == "nt":
    pytest.skip("the faults are provoked with what POSIX systems have", allow_module_level=True)

from tests.faults.document import table_lines
from tests.faults.table import TABLE, Row
from tests.faults.trials import ImpossibleError

DOCUMENT = Path(__file__).parents[2] / "docs" / "faults.md"


def _trials(thorough: bool) -> list[object]:
    return [
        pytest.param(row, trial, id=f"{row.fault}-{row.running}-{name}".replace(" ", "_"))
        for row in TABLE
        if thorough or not row.only_thorough
        for name, trial in row.trials
    ]


def _keep(trial: Callable[[int], str], most: int) -> None:
    try:
        assert trial(most)
    except ImpossibleError as reason:
        pytest.skip(str(reason))


@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize(("row", "trial"), _trials(thorough=False))
def test_promise_is_kept(row: Row, trial: Callable[[int], str]) -> None:
    _keep(trial, row.quick)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize(("row", "trial"), _trials(thorough=True))
def test_promise_is_kept_however_often_it_is_tried(row: Row, trial: Callable[[int], str]) -> None:
    _keep(trial, row.thorough)


def test_the_document_has_the_table() -> None:
    assert "\n".join(table_lines()) in DOCUMENT.read_text(encoding="utf-8")
