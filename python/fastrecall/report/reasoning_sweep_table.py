"""A sweep over the reasoning step as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastrecall.report.console import finished, text_console
from fastrecall.report.format import bounds, p_value, points, share


def render_reasoning_sweep(
    rows: Sequence[Mapping[str, Any]], *, places: int, width: int, color: bool
) -> str:
    """One line a setting, and whether it differs from the first one or that is noise."""
    from rich.table import Table

    console, out = text_console(width, color)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="underline")
    headings = (
        "setting",
        f"Hit@{places}",
        "rate, Wilson 95 %",
        "MRR",
        "failed",
        "against the base",
    )
    for heading in headings:
        left = heading in (headings[0], headings[-1])
        table.add_column(heading, justify="left" if left else "right")
    for row in rows:
        table.add_row(
            row["point"],
            f"{row['hits']}/{row['queries']}",
            share(row["rate"], row["wilson95"]),
            f"{row['mrr']:.3f} [{bounds(row['mrr_ci95'])}]",
            f"{row['failed']}",
            _standing(row),
        )
    console.print(table)
    console.print()
    others = rows[1:]
    noise = sum(row["verdict"] == "noise" for row in others)
    console.print(
        f"{noise} of {len(others)} settings differ from the base by no more than chance would "
        f"(noise): exact McNemar on Hit@{places}, query by query, Holm over all settings."
    )
    return finished(out)


def _standing(row: Mapping[str, Any]) -> str:
    if row["verdict"] == "base":
        return "base"
    difference = points(row["difference"], row["ci95"])
    return f"{row['verdict']}: {difference}, Holm {p_value(row['holm_p'])}"
