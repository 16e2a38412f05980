"""A sweep as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastrecall.report.console import finished, text_console
from fastrecall.report.format import p_value, share


def render_sweep(
    rows: Sequence[Mapping[str, Any]], *, ranked_by: str, width: int, color: bool
) -> str:
    """One line a setting, best first, with what can be told apart from the best."""
    from rich.table import Table

    console, out = text_console(width, color)
    console.print(f"ranked by {ranked_by}")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="underline")
    for heading in ("setting", "hits", "rate, Wilson 95 %", "MRR", "nodes", "against the best"):
        table.add_column(heading, justify="left" if heading == "setting" else "right")
    for row in rows:
        table.add_row(
            row["point"],
            f"{row['hits']}/{row['pairs']}",
            share(row["rate"], row["wilson95"]),
            f"{row['mrr']:.3f}",
            f"{row['mean_output']:.1f}",
            _standing(row, first=row is rows[0]),
        )
    console.print(table)
    if not rows[0]["best"]:
        console.print("no setting is clearly the best: some differences may be noise")
    return finished(out)


def _standing(row: Mapping[str, Any], *, first: bool) -> str:
    if row["best"]:
        return "best"
    if first:
        return "highest"
    if row["behind"] is None:
        return "other pairs"
    return f"{'behind' if row['behind'] else 'not distinguishable'} ({p_value(row['holm_p'])})"
