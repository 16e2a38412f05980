"""The figures of `fastrecall stats` as tables of text."""

from __future__ import annotations

from typing import Any

from fastrecall._visible import visible
from fastrecall.report.console import finished, text_console
from fastrecall.report.format import plural
from fastrecall.report.stats_sections import Block, Table, stats_sections

_GAP = 2


def render_stats(stats: Block, *, width: int, color: bool) -> str:
    """The document of `project_stats` as text of *width* columns, a section a finding."""
    console, out = text_console(width, color)
    corpus = stats["corpus"]
    span = f", {corpus['first']} to {corpus['last']}" if corpus["first"] else ""
    console.print(
        f"{corpus['name']}: {plural(corpus['issues'], 'issue')}, "
        f"{plural(corpus['prs'], 'PR')}{span}"
    )
    for note in corpus["notes"]:
        console.print(note)
    for section in stats_sections(stats):
        console.print()
        console.print(section.title, style="bold")
        if section.sentence:
            console.print(section.sentence)
        for place, table in enumerate(section.tables):
            if place:
                console.print()
            _print_table(console, table)
    return finished(out)


def _print_table(console: Any, shown: Table) -> None:
    """Print a table whose last column gives way when the page is narrow."""
    from rich.cells import cell_len
    from rich.table import Table as TextTable

    cells = [list(map(visible, row)) for row in shown.rows]
    columns = list(zip(shown.headings, *cells, strict=True))
    widths = [max(map(cell_len, column)) for column in columns]
    left = console.width - sum(width + _GAP for width in widths[:-1])
    widths[-1] = max(1, min(widths[-1], left))
    table = TextTable(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="underline")
    for heading, width in zip(shown.headings, widths, strict=True):
        table.add_column(heading, no_wrap=True, overflow="ellipsis", width=width)
    for row in cells:
        table.add_row(*row)
    console.print(table)
