"""``fastrecall eval``: the main job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fastrecall.cli._executor import chosen_executor, executor_options, memory_option
from fastrecall.cli._gates import Gates, gate_options
from fastrecall.cli._kinds import Place
from fastrecall.cli._options import (
    UNCUT,
    asking_options,
    chosen_protocols,
    corpus_options,
    gold_differences,
    model_options,
    parse_links,
    read_corpus,
)
from fastrecall.cli._reasoning import opened_reasoner, reasoning_options
from fastrecall.cli._records import give_out, record_options
from fastrecall.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Literal

    from fastrecall.search.reasoning import Fusion
    from fastrecall.study.gate import Bound


@click.command("eval")
@corpus_options
@asking_options
@click.option("--arm", "arms", multiple=True, metavar="NAME", help="Only these arms; repeatable.")
@model_options
@memory_option
@click.option(
    "--vectors",
    "vectors_place",
    type=Place(),
    help="Vectors of the nodes, made with --model: a folder of Arrow, Parquet or .npy files.",
)
@executor_options
@reasoning_options
@record_options
@click.option("--html", type=Place(), help="Write a page with charts and all pairs.")
@click.option(
    "--stats",
    "with_stats",
    is_flag=True,
    help="Add what `fastrecall stats` finds to the record and the page.",
)
@click.option(
    "--trec",
    type=Place(),
    help="Write TREC qrels, and runs of the arms that keep to the budget, to this folder.",
)
@gate_options
def command(
    corpus: str | None,
    prs: str | None,
    issues: str | None,
    gold_file: str | None,
    links: str,
    window_prs: int,
    window_issues: int,
    author_filter: str | None,
    protocols: tuple[str, ...],
    arms: tuple[str, ...],
    reasoning: bool | None,
    fusion: Fusion | None,
    on_rerank_error: Literal["keep", "fail"] | None,
    record_file: Path | None,
    replay_file: Path | None,
    no_cache: bool,
    vectors_place: str | None,
    executor_name: str | None,
    address: str | None,
    as_json: bool,
    out: str | None,
    markdown: str | None,
    html: str | None,
    with_stats: bool,
    trec: str | None,
    fail_under: tuple[str, ...],
    bound: Bound,
    baseline: str | None,
    max_drop: float | None,
    junit: str | None,
    **options: Any,
) -> int:
    """Measure how well the past of CORPUS is recalled.

    CORPUS is a folder with prs.json and issues.json (or .gz, JSON lines, Parquet), OWNER/NAME after
    `fastrecall fetch`, or what `fastrecall dataset` wrote; without it, a generated demo is measured
    (demo:20000 is one of 20,000 tickets). Each gold pair asks with an issue's title and counts a
    hit when the PR that fixed it is among the returned nodes.

    Exit codes: 0 done and every gate passed, 1 a gate failed, 2 bad input.
    """
    from fastrecall._files import atomic_write
    from fastrecall._term import note
    from fastrecall.dataset import VectorDataset
    from fastrecall.report.html import render_html
    from fastrecall.report.page import templating
    from fastrecall.study.evaluation import evaluate_in_full
    from fastrecall.study.record import Record
    from fastrecall.study.stats import project_stats
    from fastrecall.study.trec import write_trec

    if with_stats and corpus is None and prs is None and gold_file is not None:
        raise InputError("--stats reads tickets, and a gold file has none; name a corpus as well")
    conditions = Gates.read(
        fail_under=fail_under, bound=bound, baseline=baseline, max_drop=max_drop, junit=junit
    )
    if html:
        templating()  # a missing package is told now, not after the work
    sources = parse_links(links)
    loaded, gold = read_corpus(
        corpus,
        prs=prs,
        issues=issues,
        gold_file=gold_file,
        window_prs=window_prs,
        window_issues=window_issues,
        author_filter=author_filter,
    )
    everything = None
    if with_stats:
        everything, _ = read_corpus(corpus, prs=prs, issues=issues, **UNCUT)
    if gold is not None and not loaded.titles_only:
        for line in gold_differences(loaded, gold, sources):
            note(line)
    with (
        chosen_executor(
            executor_name, address=address, threads=options["threads"], memory=options["memory"]
        ) as executor,
        opened_reasoner(
            reasoning=reasoning,
            fusion=fusion,
            on_rerank_error=on_rerank_error,
            record_file=record_file,
            replay_file=replay_file,
            cache=not no_cache,
        ) as reasoner,
    ):
        evaluation = evaluate_in_full(
            loaded,
            gold=gold,
            links=sources,
            protocols=chosen_protocols(protocols),
            arms=arms or None,
            reasoner=reasoner,
            cache=not no_cache,
            vectors=None if vectors_place is None else VectorDataset(vectors_place),
            executor=executor,
            **options,
        )
    record = evaluation.record
    if everything is not None:
        found = project_stats(
            everything,
            links=sources,
            cache=not no_cache,
            model=options["model"],
            threads=options["threads"],
            memory=options["memory"],
        )
        record = Record({**record, "stats": found})
    if trec:
        write_trec(evaluation, trec)
        note(f"run and qrels files written to {trec}")
    if html:
        with atomic_write(html) as file:
            file.write(render_html(record))
        note(f"page written to {html}")
    give_out(record, as_json=as_json, out=out, markdown=markdown)
    return conditions.judge(record)
