"""``fastrecall code-sweep``: vary the settings of the reasoning step, one at a time."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fastrecall.cli._code import code_options, described, read_code
from fastrecall.cli._config import config_file
from fastrecall.cli._kinds import Place
from fastrecall.cli._options import model_options
from fastrecall.cli._output import print_json
from fastrecall.cli._reasoning import replay_option

if TYPE_CHECKING:
    from fastrecall.search.code import Include

PLACES = 5
"""Differences are tested on Hit@5, the metric of the published sweep that is a share."""


@click.command("code-sweep")
@code_options
@click.option(
    "--grid",
    "grid",
    multiple=True,
    metavar="AXIS=V,V…",
    help="Vary reasoning_weight, max_candidates, context_level or temperature; repeatable.  "
    "[default: all four, with the published values]",
)
@click.option(
    "--folder",
    type=Place(file_okay=False, path_type=Path),
    help="Write each setting's record to this folder.",
)
@model_options
@replay_option
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON.")
def command(
    path: str,
    queries: str,
    commit: str | None,
    include: Include,
    grid: tuple[str, ...],
    folder: Path | None,
    model: str,
    no_cache: bool,
    threads: int | None,
    replay_file: Path | None,
    as_json: bool,
) -> None:
    """Vary the settings of the reasoning step around those of [search.reasoning].

    Each row of the table differs from the first in one setting, and says whether its difference can
    be told from chance: on few queries most cannot. Answers are kept, so a setting that does not
    change the question (reasoning_weight) costs nothing. A --replay file fits such settings alone.
    """
    from fastrecall._term import note, output_width
    from fastrecall.report.reasoning_sweep_table import render_reasoning_sweep
    from fastrecall.search.reasoning import Reasoner
    from fastrecall.study.reasoning_sweep import (
        against_base,
        one_at_a_time,
        parse_axes,
        sweep_reasoning,
    )

    points = one_at_a_time(config_file().config.reasoning, parse_axes(grid))
    corpus, gold = read_code(path, queries=queries, commit=commit)
    records = sweep_reasoning(
        corpus,
        gold,
        points,
        reasoner=partial(Reasoner, cache=not no_cache, replay=replay_file),
        model=model,
        include=include,
        descriptions=described(corpus, include, cache=not no_cache),
        threads=threads,
        cache=not no_cache,
    )
    if folder is not None:
        for name, record in records.items():
            record.save(folder / f"{name}.json")
        note(f"{len(records)} records in {folder}")
    rows: list[dict[str, Any]] = against_base(records, places=PLACES)
    if as_json:
        print_json(rows)
    else:
        width, color = output_width()
        sys.stdout.write(render_reasoning_sweep(rows, places=PLACES, width=width, color=color))
