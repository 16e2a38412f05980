"""What commands that make a record do with it: write it, print it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from fastrecall.cli._kinds import Place
from fastrecall.cli._options import stack
from fastrecall.cli._output import write_json

if TYPE_CHECKING:
    from fastrecall.study import Record

record_options = stack(
    click.option("--json", "as_json", is_flag=True, help="Print the record as JSON."),
    click.option("--out", type=Place(), help="Write the record to this file."),
    click.option("--markdown", type=Place(), help="Write the tables as Markdown to this file."),
)


def give_out(
    record: Record, *, as_json: bool, out: str | None, markdown: str | None, **table: Any
) -> None:
    """Write *record* to the files that are named and print it; *table* goes to `Record.table`."""
    from fastrecall._files import atomic_write
    from fastrecall._term import note, output_width

    if out:
        record.save(out)
        note(f"record written to {out}")
    if markdown:
        with atomic_write(markdown) as file:
            file.write(record.markdown())
        note(f"tables written to {markdown}")
    if as_json:
        write_json(record.to_json())
        if "reasoning" in record:
            note(record["reasoning"]["sentence"])
    else:
        width, color = output_width()
        sys.stdout.write(record.table(width=width, color=color, **table))
