"""Two records side by side, and gates that judge them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

import fastrecall as fr
from fastrecall.corpus import find_links, gold_from_links, node_texts
from fastrecall.corpus.gold import make_gold
from fastrecall.errors import InputError, RecordError
from fastrecall.measure import PairedHits, mcnemar
from fastrecall.search.blocks import ArraySource
from fastrecall.study import Record, evaluate
from fastrecall.study.compare import compare
from fastrecall.study.gate import Verdict, fail_under, max_drop
from fastrecall.types import Corpus

Maker = Callable[[int, int], Corpus]
FAKE: dict[str, Any] = {"model": "fake", "cache": False}


@pytest.fixture
def corpus(random_corpus: Maker) -> Corpus:
    return random_corpus(120, 2)


def test_rows_are_counted_pair_by_pair(corpus: Corpus) -> None:
    one, two = evaluate(corpus, **FAKE), evaluate(corpus, budget=5, seed=9, **FAKE)
    told = compare(one, two)
    assert told["settings"] == {"budget": [32, 5], "seed": [0, 9]}
    for row in told["rows"]:
        hits = [
            [
                asked["ranks"][row["protocol"]][row["arm"]] is not None
                for asked in record["queries"]
                if row["protocol"] in asked["ranks"]
            ]
            for record in (one, two)
        ]
        counts = PairedHits.of(hits[1], hits[0])
        assert (len(row["won"]), len(row["lost"])) == (counts.first, counts.second)
        assert row["mcnemar_p"] == mcnemar(counts.first, counts.second) <= row["holm_p"]
        assert row["first_alone"] == row["second_alone"] == 0


def test_another_state_of_the_same_model_is_named(corpus: Corpus) -> None:
    record = evaluate(corpus, **FAKE)
    other = Record(copy.deepcopy(dict(record)))
    other["model"]["sha256"] = "0" * 64
    assert compare(record, other)["settings"] == {"model sha256": [None, "0" * 64]}
    vectors = ArraySource(fr.embed(node_texts(corpus), **FAKE))
    given = evaluate(corpus, vectors=vectors, **FAKE)
    assert compare(record, given)["settings"] == {"model node_vectors": [None, "given"]}


def test_pairs_that_one_record_alone_asked_are_told(corpus: Corpus) -> None:
    gold = gold_from_links(corpus, find_links(corpus), ("published",))
    fewer = make_gold(gold.pairs[3:], origin="fewer")
    one, two = evaluate(corpus, **FAKE), evaluate(corpus, gold=fewer, **FAKE)
    with pytest.raises(RecordError, match="different gold pairs"):
        compare(one, two)
    told = compare(one, two, anyway=True)
    assert {(row["first_alone"], row["second_alone"]) for row in told["rows"]} == {(3, 0)}
    from fastrecall.report.compare_table import render_comparison

    text = render_comparison(told, width=120, color=False)
    assert "left out 3 pairs that only the first asked, and 0 pairs that" in text


def test_a_gate_names_the_settings_in_which_the_baseline_differs(corpus: Corpus) -> None:
    one, two = evaluate(corpus, **FAKE), evaluate(corpus, budget=5, **FAKE)
    assert {str(verdict)[:4] for verdict in max_drop(one, one, 0)} == {"pass"}
    names = {verdict.name for verdict in max_drop(two, one, 0)}
    assert all(name.endswith("against the baseline of other settings (budget)") for name in names)


def test_a_failed_gate_shows_which_number_is_larger() -> None:
    line = str(Verdict("mrr[a/b]", 0.89999, 0.9, False))
    assert line == "FAIL: mrr[a/b] is 0.89999 < 0.90000"
    assert str(Verdict("mrr[a/b]", 0.9, 0.9, True)) == "pass: mrr[a/b] is 0.9000 ≥ 0.9000"


def test_a_gate_in_per_cent_is_refused(corpus: Corpus) -> None:
    record = evaluate(corpus, **FAKE)
    with pytest.raises(InputError, match="can never be met; expected a share from 0 to 1"):
        fail_under(record, "chain_hit@32[causal]=90")


@pytest.mark.parametrize("bound", ["point", "lower"])
def test_gates_judge_the_number_that_they_name(corpus: Corpus, bound: Any) -> None:
    record = evaluate(corpus, **FAKE)
    arm = record["protocols"]["leave-one-out"]["arms"]["hybrid"]
    low, point = arm["wilson95"][0], arm["rate"]
    asked = low if bound == "lower" else point
    for least, passes in ((asked - 1e-6, True), (asked + 1e-6, False)):
        spec = f"chain_hit@32[leave-one-out/hybrid]={least:.12f}"
        verdict = fail_under(record, spec, bound=bound)
        assert verdict.measured == pytest.approx(asked)
        assert verdict.passed is passes
    mrr = fail_under(record, "mrr[leave-one-out/hybrid]=0", bound=bound)
    assert mrr.measured == (arm["mrr_ci95"][0] if bound == "lower" else arm["mrr"])
