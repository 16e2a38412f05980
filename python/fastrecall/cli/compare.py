"""``fastrecall compare``: two records, pair by pair."""

from __future__ import annotations

import sys

import click

from fastrecall.cli._kinds import Place
from fastrecall.cli._output import print_json


@click.command("compare")
@click.argument("first", type=Place())
@click.argument("second", type=Place())
@click.option("--anyway", is_flag=True, help="Compare even different corpora or gold pairs.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def command(first: str, second: str, anyway: bool, as_json: bool) -> None:
    """Compare two records that `fastrecall eval --out` wrote, pair by pair.

    Each row says how many pairs SECOND wins and loses against FIRST, with the interval of the
    difference, an exact McNemar test, and Holm's correction over all rows.
    """
    from fastrecall._term import output_width
    from fastrecall.report.compare_table import render_comparison
    from fastrecall.study import Record

    comparison = Record.load(first).compare(Record.load(second), anyway=anyway)
    if as_json:
        print_json(comparison)
    else:
        width, color = output_width()
        sys.stdout.write(render_comparison(comparison, width=width, color=color))
