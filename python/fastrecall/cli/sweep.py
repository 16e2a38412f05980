"""``fastrecall sweep``: many settings on one corpus."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from fastrecall.cli._kinds import Place
from fastrecall.cli._options import (
    CORPUS_NAMES,
    asking_options,
    chosen_protocols,
    corpus_options,
    model_options,
    parse_links,
    read_corpus,
)
from fastrecall.cli._output import print_json


@click.command("sweep")
@corpus_options
@click.option(
    "--grid",
    "grid",
    multiple=True,
    metavar="AXIS=V,V…",
    help="Vary budget, seeds, depth, links, query or model; repeatable.",
)
@click.option(
    "--rank-by",
    default="leave-one-out/causal",
    show_default=True,
    metavar="PROTOCOL/ARM",
    help="What the table is ordered by.",
)
@click.option(
    "--folder",
    type=Place(file_okay=False, path_type=Path),
    default=Path("sweep"),
    show_default=True,
    help="Where the records are kept; a rerun makes only those that are missing.",
)
@asking_options
@model_options
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON.")
def command(
    grid: tuple[str, ...],
    rank_by: str,
    folder: Path,
    as_json: bool,
    links: str,
    no_cache: bool,
    protocols: tuple[str, ...],
    **options: Any,
) -> None:
    """Evaluate CORPUS under every combination of settings, one record each.

    What no --grid varies is as the options say.

    The best row is marked only where every other one is significantly behind it (exact McNemar on
    the same pairs, Holm over all pairs of rows).
    """
    from fastrecall._term import note, output_width, progress
    from fastrecall.report.sweep_table import render_sweep
    from fastrecall.study.settings import one_of
    from fastrecall.study.sweep import parse_grid, rank_points, sweep

    points = parse_grid(grid)
    protocol, _, arm = rank_by.partition("/")
    asked = chosen_protocols(protocols)
    if asked is not None:
        one_of("protocol", protocol, asked)
    where = {name: options.pop(name) for name in CORPUS_NAMES}
    common = {**options, "links": parse_links(links), "protocols": asked}
    corpus, gold = read_corpus(**where)
    results = []
    with progress("settings", len(points)) as advance:
        for done in sweep(corpus, points, folder, gold=gold, cache=not no_cache, **common):
            results.append(done)
            advance(1)
    rows = rank_points(results, protocol=protocol, arm=arm)
    note(f"{len(results)} records in {folder}")
    if as_json:
        print_json(rows)
    else:
        width, color = output_width()
        sys.stdout.write(render_sweep(rows, ranked_by=rank_by, width=width, color=color))
