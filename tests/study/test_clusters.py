"""Pairs of one issue are no independent witnesses: means are taken, and samples drawn, by issue."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fastrecall.corpus import find_links, gold_from_links
from fastrecall.corpus.gold import make_gold
from fastrecall.measure import (
    bootstrap_difference,
    bootstrap_mean,
    permutation,
    read_qrels,
    read_run,
    score_run,
)
from fastrecall.measure.metrics import parse_metrics
from fastrecall.study.evaluation import Evaluation, evaluate_in_full
from fastrecall.study.summary import SAMPLES
from fastrecall.study.trec import write_trec
from fastrecall.types import Corpus, Gold

Maker = Callable[[int, int], Corpus]
FAKE: dict[str, Any] = {"model": "fake", "cache": False}


def worded(corpus: Corpus) -> Gold:
    """The corpus' pairs, the first PR of each issue asked for in other words than the rest."""
    pairs, seen = [], set()
    for pair in gold_from_links(corpus, find_links(corpus), ("published",)).pairs:
        first = pair.issue not in seen
        seen.add(pair.issue)
        pairs.append(replace(pair, query=f"{pair.query} again" if first else pair.query))
    return make_gold(pairs, origin="two wordings")


@pytest.fixture(params=["one wording", "two wordings"])
def evaluation(request: pytest.FixtureRequest, random_corpus: Maker) -> Evaluation:
    corpus = random_corpus(160, 3)
    gold = worded(corpus) if request.param == "two wordings" else None
    return evaluate_in_full(corpus, gold=gold, seed=5, **FAKE)


def test_intervals_and_tests_take_an_issue_as_one(evaluation: Evaluation) -> None:
    record = evaluation.record
    for protocol, block in record["protocols"].items():
        rows = [row for row in record["queries"] if protocol in row["ranks"]]
        issue = np.array([row["issue"] for row in rows])
        wording = np.array([f"{row['issue']} {row['query']}" for row in rows])
        assert block["queries"] == len(set(wording))
        assert len(set(issue)) < len(rows)
        of_arm = {}
        for arm, numbers in block["arms"].items():
            ranks = [row["ranks"][protocol][arm] for row in rows]
            hits = np.array([rank is not None for rank in ranks], dtype=float)
            best = {
                name: max(
                    1 / r if r else 0.0 for r, w in zip(ranks, wording, strict=True) if w == name
                )
                for name in dict.fromkeys(wording)
            }
            values = np.array(list(best.values()))
            clusters = [int(name.split()[0]) for name in best]
            of_arm[arm] = hits, values, clusters
            assert numbers["mrr"] == pytest.approx(values.mean())
            drawn = {"samples": SAMPLES, "seed": 5}
            assert numbers["mrr_ci95"] == pytest.approx(bootstrap_mean(values, clusters, **drawn))
            assert numbers["rate_ci95"] == pytest.approx(bootstrap_mean(hits, issue, **drawn))
        gain = record["gain"][protocol]
        (hits, values, clusters), (less_hits, less, _) = of_arm["causal"], of_arm["semantic"]
        for name, bounds in (
            ("difference_ci95", bootstrap_difference(hits, less_hits, issue, **drawn)),
            ("mrr_ci95", bootstrap_difference(values, less, clusters, **drawn)),
        ):
            assert gain[name] == pytest.approx(bounds)
        assert gain["difference_p"] == permutation(hits, less_hits, issue, **drawn)
        assert gain["mrr_p"] == permutation(values, less, clusters, **drawn)


def test_exported_rankings_score_to_the_same_numbers(
    evaluation: Evaluation, tmp_path: Path
) -> None:
    """So that any other tool finds the record's numbers in the exported files."""
    write_trec(evaluation, tmp_path)
    [mrr, chain_hit] = metrics = parse_metrics(["mrr", "chain_hit@32"])
    for protocol, block in evaluation.record["protocols"].items():
        for arm, numbers in block["arms"].items():
            if "hits_at" not in numbers:
                continue
            run = read_run(tmp_path / f"{protocol}.{arm}.run")
            scored = score_run(run, read_qrels(tmp_path / f"{protocol}.qrels"), metrics)
            assert len(scored.queries) == block["queries"]
            assert scored.values[mrr].mean() == pytest.approx(numbers["mrr"])
            assert scored.values[chain_hit].sum() == numbers["hits"]


def test_issues_of_one_pair_each_need_no_second_interval(random_corpus: Maker) -> None:
    corpus = random_corpus(60, 1)
    pairs = {pair.issue: pair for pair in gold_from_links(corpus, find_links(corpus)).pairs}
    gold = make_gold(pairs.values(), origin="one each")
    record = evaluate_in_full(corpus, gold=gold, protocols=["leave-one-out"], **FAKE).record
    assert all(
        "rate_ci95" not in arm for arm in record["protocols"]["leave-one-out"]["arms"].values()
    )
    assert "difference_ci95" not in record["gain"]["leave-one-out"]
