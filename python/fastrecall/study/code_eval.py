"""Evaluate code search: do the lines that answer a query come back, and how high?"""

from __future__ import annotations

import functools
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fastrecall.corpus.code import CodeChunk, CodeCorpus
from fastrecall.corpus.code_gold import CodeGold
from fastrecall.embedding import embed, resolve_model
from fastrecall.errors import InputError
from fastrecall.measure import (
    Found,
    Judgments,
    Metric,
    PairedHits,
    estimate,
    mcnemar,
    newcombe_paired,
    wilson,
)
from fastrecall.search.arms import REASONING
from fastrecall.search.code import CODE_ARMS, CodeIndex, CodeSettings, Include
from fastrecall.search.reasoning import Reasoner, Reranked, reordered
from fastrecall.study.clock import Clock
from fastrecall.study.reasoning_block import reasoning_block
from fastrecall.study.record import SCHEMA, Record, versions
from fastrecall.study.summary import SAMPLES, json_bounds

PROTOCOL = "code"
METRICS = ("mrr", "ndcg@10", "hit@5", "hit@10", "recall@5", "recall@10")
TITLES = {
    "bm25": "BM25",
    "semantic": "semantic",
    "hybrid": "hybrid",
    REASONING: "hybrid + reasoning",
}

HITS_WITHIN = 10
"""A query counts as a hit when its first answer is within these places."""

_TOP = 3
"""How many results that came instead are told for a miss."""

Ranks = npt.NDArray[np.int64]


@dataclass(frozen=True)
class _Arm:
    """What an arm returned, and where in it each target stands (0: nowhere)."""

    rankings: list[list[CodeChunk]]
    found: Found
    credited: Found

    @functools.cached_property
    def best(self) -> Ranks:
        """The rank of each query's first target; 0 for a miss."""
        counts, ranks = self.found.judgments.counts, self.found.ranks
        rows = np.split(ranks, np.cumsum(counts)[:-1])
        return np.array([min((r for r in row if r), default=0) for row in rows], dtype=np.int64)


def evaluate_code(
    corpus: CodeCorpus,
    gold: CodeGold,
    *,
    model: str = "minilm",
    include: Include = "code",
    settings: CodeSettings | None = None,
    reasoner: Reasoner | None = None,
    descriptions: Sequence[str] | None = None,
    depth: int = 20,
    threads: int | None = None,
    cache: bool | Path = True,
    seed: int = 0,
) -> Record:
    """Measure how well code search answers the gold queries.

    A chunk answers when it shares a line with a target. Hit, MRR and recall ask for the first such
    chunk of each target; NDCG credits each target once and each chunk with one target (see
    `CodeQuery.credited_ranks`).

    Args:
        corpus: from `load_code`, at the commit that the gold speaks of.
        gold: from `load_code_gold`.
        model: embedding model.
        include: which chunks are candidates.
        settings: how evidence is weighted.
        reasoner: adds the arm ``hybrid_reasoning``.
        descriptions: one line a chunk, put before its text ahead of embedding.
        depth: results a query gets, 10 or more.
        threads: of embedding; never changes a result.
        cache: where vectors are kept.
        seed: of the bootstrap.

    Raises:
        InputError: a depth below 10, or gold of which no file is in the corpus.
        ModelError: the embedding model cannot be had.
        RemoteError: a rerank call failed and the reasoner is told to stop then.
    """
    if depth < HITS_WITHIN:
        raise InputError(f"depth is {depth}; expected 10 or more, for the metrics look that far")
    absent = gold.absent(corpus.chunks)
    if len(absent) == sum(len(query.targets) for query in gold.queries):
        raise InputError(
            f"no target of {gold.origin} is in {corpus.name} (first: {absent[0]}); "
            "give the tree, and with --commit the state, that the gold file speaks of"
        )
    settings = settings or CodeSettings()
    clock = Clock()
    embedder = functools.partial(embed, model=model, threads=threads, cache=cache)
    index = CodeIndex.build(
        corpus, embedder, include=include, settings=settings, descriptions=descriptions
    )
    clock.lap("index")

    queries = [query.text for query in gold.queries]
    pool = max(depth, reasoner.settings.max_candidates) if reasoner else depth
    seconds: dict[str, float] = {}
    ids: dict[str, npt.NDArray[np.int32]] = {}
    for arm in CODE_ARMS:
        began = time.perf_counter()
        ids[arm] = index.search(queries, pool, arms=(arm,))[arm].ids
        seconds[arm] = time.perf_counter() - began
    clock.lap("search")
    reranked: list[Reranked] = []
    if reasoner is not None:
        began = time.perf_counter()
        candidates = [index.candidates(ranking) for ranking in ids["hybrid"]]
        reranked = reasoner.rerank_many(list(zip(queries, candidates, strict=True)))
        ids[REASONING] = reordered(ids["hybrid"], reranked)
        seconds[REASONING] = seconds["hybrid"] + time.perf_counter() - began
        clock.lap("reasoning")
    clock.count_queries(PROTOCOL, seconds, len(queries))

    judgments = _judgments(gold)
    arms = {arm: _arm(found[:, :depth], corpus, gold, judgments) for arm, found in ids.items()}
    better, base = (REASONING, "hybrid") if reasoner else ("hybrid", "semantic")
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "versions": versions(),
        "settings": {**_settings(settings), "include": include, "depth": depth, "seed": seed,
                     "samples": SAMPLES,
                     "descriptions": descriptions is not None},
        "model": resolve_model(model).as_dict(),
        "corpus": _corpus_block(corpus, index, gold),
        "protocols": {
            PROTOCOL: {
                "title": "code search",
                "sentence": "a chunk answers when it shares a line with a gold range",
                "queries": len(gold),
                "targets": len(judgments.ids),
                "unreachable": len(absent),
                "arms": {arm: _arm_block(TITLES[arm], of, depth=depth, seed=seed)
                         for arm, of in arms.items()},
            }
        },
        "gain": {PROTOCOL: _gain(better, base, arms)},
        "queries": _rows(gold, arms, reranked),
        "timings": clock.as_dict(),
    }  # fmt: skip
    if reasoner is not None:
        document["reasoning"] = reasoning_block(reasoner, reranked)
    return Record(document)


def _judgments(gold: CodeGold) -> Judgments:
    """Every target as an item of its own, best grade first within its query."""
    rows = np.repeat(np.arange(len(gold)), [len(query.targets) for query in gold.queries])
    grades = [target.grade for query in gold.queries for target in query.targets]
    return Judgments.from_pairs(rows, np.arange(len(rows)), grades, count=len(gold))


def _arm(
    ids: npt.NDArray[np.int32], corpus: CodeCorpus, gold: CodeGold, judgments: Judgments
) -> _Arm:
    rankings = [[corpus.chunks[at] for at in ranking if at >= 0] for ranking in ids]
    pairs = list(zip(gold.queries, rankings, strict=True))
    found = [rank or 0 for query, ranking in pairs for rank in query.first_ranks(ranking)]
    credited = [rank or 0 for query, ranking in pairs for rank in query.credited_ranks(ranking)]
    return _Arm(rankings, Found(judgments, np.array(found)), Found(judgments, np.array(credited)))


def _arm_block(title: str, arm: _Arm, *, depth: int, seed: int) -> dict[str, Any]:
    n = len(arm.rankings)
    hits_at = [int(((arm.best > 0) & (arm.best <= k)).sum()) for k in range(1, depth + 1)]
    hits = hits_at[HITS_WITHIN - 1]
    block: dict[str, Any] = {"title": title, "n": n}
    intervals: dict[str, list[float | None]] = {}
    for name in METRICS:
        metric = Metric.parse(name)
        of = arm.credited if metric.name == "ndcg" else arm.found
        value = estimate(metric, of, samples=SAMPLES, seed=seed)
        block[name] = value.mean
        intervals[name] = json_bounds((value.low, value.high))
    shown = [
        chunk.end - chunk.start + 1 for ranking in arm.rankings for chunk in ranking[:HITS_WITHIN]
    ]
    return block | {
        "ci95": intervals,
        "mrr_ci95": intervals["mrr"],
        "hits": hits,
        "pairs": n,
        "rate": hits / n,
        "wilson95": list(wilson(hits, n)),
        "hits_at": hits_at,
        "mean_output": float(np.mean([len(ranking) for ranking in arm.rankings])),
        "mean_lines": float(np.mean(shown)) if shown else 0.0,
    }


def _gain(better: str, base: str, arms: Mapping[str, _Arm]) -> dict[str, Any]:
    """The paired difference in Hit@5, the metric of the published tables that is a share."""
    first, second = (((arms[a].best > 0) & (arms[a].best <= 5)) for a in (better, base))
    counts = PairedHits.of(first, second)
    return {
        "title": f"{TITLES[better]} over {TITLES[base]}, Hit@5",
        "difference": (counts.first - counts.second) / len(first),
        "ci95": list(newcombe_paired(*counts)),
        "won": counts.first,
        "lost": counts.second,
        "mcnemar_p": mcnemar(counts.first, counts.second),
    }


def _rows(
    gold: CodeGold, arms: Mapping[str, _Arm], reranked: Sequence[Reranked]
) -> list[dict[str, Any]]:
    """One row a query: ranks within the ten that hits are counted in, and what a miss got."""
    rows = []
    for at, query in enumerate(gold.queries):
        best = {arm: int(of.best[at]) or None for arm, of in arms.items()}
        hit = {arm: rank if rank and rank <= HITS_WITHIN else None for arm, rank in best.items()}
        row: dict[str, Any] = {
            "query": query.text,
            "line": query.line,
            "targets": [f"{target}:{target.grade}" for target in query.targets],
            "ranks": {PROTOCOL: hit},
            "misses": {
                PROTOCOL: {
                    arm: {
                        "rank": best[arm],
                        "top": [chunk.where for chunk in of.rankings[at][:_TOP]],
                    }
                    for arm, of in arms.items()
                    if hit[arm] is None
                }
            },
        }
        if reranked and reranked[at].failed:
            row["reasoning_failed"] = reranked[at].failure
        rows.append(row)
    return rows


def _settings(settings: CodeSettings) -> dict[str, Any]:
    return asdict(settings) | {"weights": dict(settings.weights)}


def _corpus_block(corpus: CodeCorpus, index: CodeIndex, gold: CodeGold) -> dict[str, Any]:
    return {
        "name": corpus.name,
        "commit": corpus.commit,
        "files": corpus.files,
        "chunks": len(corpus),
        "nodes": len(index),
        "languages": corpus.languages,
        "skipped": [asdict(file) for file in corpus.skipped],
        "fingerprint": corpus.fingerprint,
        "gold_origin": gold.origin,
        "gold_fingerprint": gold.fingerprint,
    }
