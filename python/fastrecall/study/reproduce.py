"""A published run again: same pairs, same rules, the figures side by side, and why they differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from fastrecall import _toml
from fastrecall import corpus as corpus_room
from fastrecall.corpus.gold import GoldRow
from fastrecall.corpus.window import Window
from fastrecall.embedding import list_models
from fastrecall.errors import CorpusError
from fastrecall.measure.intervals import wilson
from fastrecall.report.reading import MISS_REASONS
from fastrecall.study.evaluation import evaluate_in_full
from fastrecall.study.record import Record
from fastrecall.types import Corpus, Gold

ARMS = ("semantic", "semantic_similar", "semantic_similar_uncut", "causal", "causal_uncut")
_SHOWN = {
    "semantic": ("semantic", "semantic_similar", "semantic_similar_uncut"),
    "causal": ("causal", "causal_uncut"),
}
"""The arms that each published figure may have been, for the article leaves details open."""


@dataclass(frozen=True)
class Published:
    """What is known of a published run; the fields are those of ``published.toml``."""

    title: str
    article: str
    repository: str
    gold: str
    model: str
    pairs: int
    semantic: int
    causal: int
    issues: int
    prs: int
    window_issues: int
    window_prs: int


@cache
def published_runs() -> dict[str, Published]:
    """All published runs by name.

    >>> published_runs()["ydb"].pairs
    293
    """
    tables = _toml.packaged("fastrecall.study", "published.toml")
    return {name: Published(**table) for name, table in tables.items()}


def window_of_the_time(corpus: Corpus, rows: Iterable[GoldRow], published: Published) -> Corpus:
    """The window as it was when the pairs were made.

    *corpus* holds everything, unfiltered. Tickets younger than the youngest one that the pairs name
    are put aside, for the run cannot have seen the later ones; then the author filter and the
    window apply.

    Raises:
        CorpusError: the corpus has none of the pairs' tickets.
    """
    gold = corpus_room.gold_from_rows(corpus, rows)
    nodes = {node for pair in gold.pairs for node in (pair.issue_node, pair.pr_node) if node >= 0}
    if not nodes:
        raise CorpusError(
            f"{corpus.name} has none of the {len(gold)} published pairs' tickets; are these files "
            f"of {published.repository}?"
        )
    end = max(int(corpus.created_at[node]) for node in nodes)
    window = Window(prs=published.window_prs, issues=published.window_issues)
    later = 0
    for ticket in sorted(corpus.tickets, key=lambda ticket: ticket.kind != "pr"):
        if ticket.created_at <= end:
            window.add(ticket)
        else:
            later += 1
    tickets, cut, _ = window.close()
    notes = corpus.notes
    if later:
        notes += (f"{later} tickets younger than every published pair were put aside",)
    return corpus_room.make_corpus(tickets, name=corpus.name, cut=cut, notes=notes)


def reproduce(
    corpus: Corpus,
    rows: Iterable[GoldRow],
    published: Published,
    *,
    model: str | None = None,
    threads: int | None = None,
    cache: bool | Path = True,
) -> tuple[dict[str, Any], Record]:
    """Repeat a published run on *corpus* (everything, unfiltered): the comparison, and the record.

    Raises:
        CorpusError: the corpus does not fit the pairs.
        ModelError: the model cannot be had; it is the published one unless *model* says otherwise.
    """
    rows = tuple(rows)
    window = window_of_the_time(corpus, rows, published)
    gold = corpus_room.gold_from_rows(window, rows, origin="published")
    record = evaluate_in_full(
        window,
        gold=gold,
        protocols=("published", "leave-one-out"),
        arms=ARMS,
        model=model or published.model,
        threads=threads,
        cache=cache,
    ).record
    block = record["protocols"]["published"]
    document = {
        "schema": 1,
        "article": published.article,
        "corpus": record["corpus"],
        "model": record["model"]["id"],
        "asked": block["pairs"],
        "published_pairs": published.pairs,
        "rows": [
            _row(name, getattr(published, name), published.pairs, arms, record)
            for name, arms in _SHOWN.items()
        ],
        "reasons": _reasons(window, corpus, gold, published, record),
    }
    return document, record


def _row(name: str, hits: int, pairs: int, arms: tuple[str, ...], record: Record) -> dict[str, Any]:
    return {
        "what": name,
        "published": {
            "hits": hits,
            "pairs": pairs,
            "rate": hits / pairs,
            "wilson95": list(wilson(hits, pairs)),
        },
        "measured": {
            key: {
                protocol: {
                    field: block["arms"][key][field]
                    for field in ("title", "hits", "pairs", "rate", "wilson95", "mean_output")
                }
                for protocol, block in record["protocols"].items()
            }
            for key in arms
        },
    }


def _reasons(
    window: Corpus, corpus: Corpus, gold: Gold, published: Published, record: Record
) -> list[str]:
    """What can make the figures differ, with how much of it there is."""
    reasons = []
    block = record["protocols"]["published"]
    wanted = next(one.id for one in list_models() if one.name == published.model)
    if record["model"]["id"] != wanted:
        reasons.append(f"the model is {record['model']['id']}; published: {wanted}")
    if len(gold) != published.pairs:
        reasons.append(f"{len(gold)} pairs were given; published: {published.pairs}")
    if block["unreachable"]:
        reasons.append(
            f"{block['unreachable']} pairs could not be asked, because their PR is not in the "
            "window: deleted, transferred, or pushed out"
        )
    gone = sum(pair.issue_node < 0 for pair in gold.pairs)
    if gone:
        reasons.append(f"{gone} pairs ask in the name of an issue that is not in the window")
    read, kept = corpus.cut, window.cut
    reasons.append(
        f"{read.read_issues:,} issues and {read.read_prs:,} PRs were read; when it was "
        f"published there were {published.issues:,} and {published.prs:,}. In the window are "
        f"{kept.kept_issues:,} and {kept.kept_prs:,}, after {kept.dropped_authors:,} PRs "
        "of mechanical authors were dropped; published: "
        f"{published.window_issues:,} and {published.window_prs:,}"
    )
    found = corpus_room.gold_from_links(window, corpus_room.find_links(window), ("published",))
    only_found, only_given = map(len, corpus_room.compare_gold(found, gold))
    reasons.append(
        f"by the article's rule the texts hold {len(found)} pairs: {only_found} that were not "
        f"published, while {only_given} published ones are not found (texts were edited, or the "
        "window moved)"
    )
    if block["own_issue_first"] is not None:
        reasons.append(
            f"the asked issue itself ranks first for {block['own_issue_first']} of "
            f"{block['queries']} queries, and its closing link leads to the answer: that carries "
            "the causal figure, as leave-one-out shows"
        )
    missed = Counter(
        query["misses"]["published"]["causal"]["reason"]
        for query in record["queries"]
        if "causal" in query["misses"].get("published", {})
    )
    reasons += [
        f"causal misses {count} pairs because {MISS_REASONS[reason]}"
        for reason, count in missed.most_common()
    ]
    reasons.append(
        "the article leaves open how 32 results are filled when 32 seeds already fill them, how "
        "similarity edges are built, and whether texts are cut by code points or UTF-16 units; the "
        "arms shown are the readings of it"
    )
    return reasons
