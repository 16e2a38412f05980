"""The scores of a run as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastrecall.report.console import finished, text_console


def render_scores(rows: Sequence[Mapping[str, Any]], *, width: int, color: bool) -> str:
    """One line a metric: its mean, its 95 % interval and how much it stands on."""
    from rich.table import Table

    console, out = text_console(width, color)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="underline")
    for heading in ("metric", "mean", "95 %", "scores", "queries"):
        table.add_column(heading, justify="left" if heading == "metric" else "right")
    for row in rows:
        table.add_row(
            row["metric"],
            "–" if row["mean"] is None else f"{row['mean']:.4f}",
            "–" if row["low"] is None else f"[{row['low']:.4f}–{row['high']:.4f}]",
            str(row["n"]),
            str(row["queries"]),
        )
    console.print(table)
    return finished(out)
