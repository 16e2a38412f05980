"""A comparison of two records as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastrecall.report.console import finished, text_console
from fastrecall.report.format import p_value, plural, points


def render_comparison(comparison: Mapping[str, Any], *, width: int, color: bool) -> str:
    """The comparison as a table, followed by every pair that changed sides."""
    from rich.table import Table

    console, out = text_console(width, color)
    console.print(f"first:  {comparison['first']['corpus']}, model {comparison['first']['model']}")
    console.print(
        f"second: {comparison['second']['corpus']}, model {comparison['second']['model']}"
    )
    for name, (before, after) in comparison["settings"].items():
        console.print(f"setting {name}: {before} → {after}")
    console.print()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="underline")
    for heading in ("protocol", "arm", "first", "second", "difference", "McNemar", "Holm"):
        table.add_column(heading, justify="left" if heading in ("protocol", "arm") else "right")
    for row in comparison["rows"]:
        table.add_row(
            row["protocol"],
            row["title"],
            f"{row['first_hits']}/{row['pairs']}",
            f"{row['second_hits']}/{row['pairs']}",
            points(row["difference"], row["ci95"]),
            p_value(row["mcnemar_p"]),
            p_value(row["holm_p"]),
        )
    console.print(table)
    noun = ("query", "queries") if comparison["asked"] == "query" else ("pair",)
    alone = {
        row["protocol"]: (row["first_alone"], row["second_alone"]) for row in comparison["rows"]
    }
    for protocol, (first, second) in alone.items():
        if first or second:
            console.print(
                f"{protocol}: left out {plural(first, *noun)} that only the first asked, and "
                f"{plural(second, *noun)} that only the second did"
            )
    for row in comparison["rows"]:
        for side in ("won", "lost"):
            if row[side]:
                console.print()
                console.print(
                    f"{row['protocol']}, {row['title']}: {plural(len(row[side]), *noun)} {side}"
                )
                for ref in row[side]:
                    console.print(f"  {ref}")
    return finished(out)
