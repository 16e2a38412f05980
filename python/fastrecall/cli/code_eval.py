"""``fastrecall code-eval``: measure code search on a source tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fastrecall.cli._code import code_options, described, read_code
from fastrecall.cli._gates import Gates, gate_options
from fastrecall.cli._options import model_options
from fastrecall.cli._reasoning import opened_reasoner, reasoning_options
from fastrecall.cli._records import give_out, record_options

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Literal

    from fastrecall.search.code import Include
    from fastrecall.search.reasoning import Fusion


@click.command("code-eval")
@code_options
@model_options
@reasoning_options
@click.option(
    "--misses", is_flag=True, help="List each missed query: what was expected, what came."
)
@record_options
@gate_options
def command(
    path: str,
    queries: str,
    commit: str | None,
    include: Include,
    model: str,
    no_cache: bool,
    threads: int | None,
    reasoning: bool | None,
    fusion: Fusion | None,
    on_rerank_error: Literal["keep", "fail"] | None,
    record_file: Path | None,
    replay_file: Path | None,
    misses: bool,
    as_json: bool,
    out: str | None,
    markdown: str | None,
    **gates: Any,
) -> int:
    """Measure how well questions about the source tree at PATH are answered.

    PATH is a folder; with --commit it may also be a bare repository, whose commit is read through
    git. The tree is cut into chunks by syntax; a chunk answers a query when it shares a line with
    one of its results. Files that were left out are listed in the record, with the reason.

    Exit codes: 0 done and every gate passed, 1 a gate failed, 2 bad input.
    """
    from fastrecall.study.code_eval import evaluate_code

    conditions = Gates.read(**gates)
    corpus, gold = read_code(path, queries=queries, commit=commit)
    with opened_reasoner(
        reasoning=reasoning,
        fusion=fusion,
        on_rerank_error=on_rerank_error,
        record_file=record_file,
        replay_file=replay_file,
        cache=not no_cache,
    ) as reasoner:
        record = evaluate_code(
            corpus,
            gold,
            model=model,
            include=include,
            reasoner=reasoner,
            descriptions=described(corpus, include, cache=not no_cache),
            threads=threads,
            cache=not no_cache,
        )
    give_out(record, as_json=as_json, out=out, markdown=markdown, misses=misses)
    return conditions.judge(record)
