"""The overlap of link sources as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastrecall.report.console import finished, text_console
from fastrecall.report.format import count, plural

ELSEWHERE = {
    "is_pr": "another PR",
    "outside_window": "an issue outside the window",
    "other_repo": "another repository",
    "no_title": "an issue without a title",
}
"""Where a reference can lead that makes no pair."""


def elsewhere(overlap: Mapping[str, Any]) -> list[tuple[str, str, int]]:
    """(source, place in words, references) of what led to no issue of the corpus."""
    found = []
    for note, number in overlap["elsewhere"].items():
        source, _, reason = note.partition(".")
        if reason in ELSEWHERE:
            found.append((source, ELSEWHERE[reason], number))
    return found


def render_links(overlap: Mapping[str, Any], *, width: int, color: bool) -> str:
    """A line a source: its pairs, those that only it finds, and what it shares with each other."""
    from rich.table import Table

    console, out = text_console(width, color)
    sources = overlap["sources"]
    console.print(f"{plural(overlap['pairs'], 'pair')} (issue, PR) found by any source")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="underline")
    for heading in ("source", "pairs", "only here", *(f"& {name}" for name in sources)):
        table.add_column(heading, justify="left" if heading == "source" else "right")
    for name, source in sources.items():
        if source["in_data"]:
            shared = [
                "" if other == name else count(number)
                for other, number in overlap["both"][name].items()
            ]
            table.add_row(name, count(source["pairs"]), count(source["only"]), *shared)
        else:
            table.add_row(name, "not in the data")
    console.print(table)
    for source, place, number in elsewhere(overlap):
        console.print(f"{source}: {plural(number, 'reference')} to {place} made no pair")
    return finished(out)
