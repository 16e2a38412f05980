"""docs/faults.md: its table says what `TABLE` says."""

from __future__ import annotations

from tests.faults.table import TABLE


def table_lines() -> list[str]:
    """The table in Markdown, one line a row."""
    rows = [(row.fault, row.running, row.provoked, row.outcome, row.lost) for row in TABLE]
    head = ("fault", "what was running", "how provoked", "outcome", "work lost")
    return ["| " + " | ".join(cells) + " |" for cells in (head, ("---",) * 5, *rows)]
