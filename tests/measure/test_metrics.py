from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import metrics as oracle

from fastrecall.errors import InputError
from fastrecall.measure import Judgments, Metric, estimate, locate, parse_metrics, wilson
from fastrecall.measure import judgments as judgments_module
from fastrecall.measure.metrics import FAMILIES

EVERY_FORM = [
    "hit@1",
    "hit@5",
    "chain_hit@32",
    "recall@10",
    "precision@3",
    "mrr",
    "mrr@2",
    "map",
    "map@4",
    "ndcg",
    "ndcg@10",
]

ids = st.integers(0, 12)
rankings_and_gold = st.integers(0, 6).flatmap(
    lambda queries: st.tuples(
        st.lists(st.lists(ids, max_size=9), min_size=queries, max_size=queries),
        st.lists(
            st.dictionaries(ids, st.integers(-1, 4), max_size=6),
            min_size=queries,
            max_size=queries,
        ),
    )
)


def padded(rankings: list[list[int]]) -> np.ndarray[tuple[int, int], np.dtype[np.int32]]:
    width = max((len(ranking) for ranking in rankings), default=0)
    rows = [ranking + [-1] * (width - len(ranking)) for ranking in rankings]
    return np.array(rows, np.int32).reshape(len(rankings), width)


@given(rankings_and_gold, st.integers(1, 11) | st.none())
def test_metrics_equal_the_textbook(
    case: tuple[list[list[int]], list[dict[int, int]]], k: int | None
) -> None:
    rankings, gold = case
    for name, textbook in oracle.BY_QUERY.items():
        if k is None and FAMILIES[name].cutoff == "required":
            continue
        expected = [
            textbook(ranking, wanted, k) for ranking, wanted in zip(rankings, gold, strict=True)
        ]
        ours = Metric(name, k).evaluate(padded(rankings), gold)
        np.testing.assert_allclose(ours, expected, rtol=1e-13, err_msg=name)


@given(rankings_and_gold, st.integers(1, 11))
def test_chain_hits_equal_the_textbook(
    case: tuple[list[list[int]], list[dict[int, int]]], k: int
) -> None:
    rankings, gold = case
    judgments = Judgments.from_dicts(gold)
    metric = Metric("chain_hit", k)
    ours = metric.evaluate(padded(rankings), judgments)
    expected = [
        oracle.chain_hits(rankings[query], gold[query], k)[item]
        for query, item in zip(judgments.queries.tolist(), judgments.ids.tolist(), strict=True)
    ]
    assert ours.tolist() == expected
    assert metric.clusters(judgments).tolist() == judgments.queries.tolist()


@given(rankings_and_gold)
def test_scores_stay_between_0_and_1_and_repeats_add_nothing(
    case: tuple[list[list[int]], list[dict[int, int]]],
) -> None:
    rankings, gold = case
    for text in EVERY_FORM:
        metric = Metric.parse(text)
        scores = metric.evaluate(padded(rankings), gold)
        assert ((scores >= 0) & (scores <= 1 + 1e-12)).all()
        if metric.cutoff is None and rankings:
            # The same documents once more at the end change no score without a cut.
            again = [ranking + ranking for ranking in rankings]
            np.testing.assert_allclose(metric.evaluate(padded(again), gold), scores)


def test_a_repeated_document_is_credited_once_and_keeps_its_place() -> None:
    ranking, gold = [[7, 7, 8]], [{7: 1, 8: 1}]
    assert Metric.parse("recall@2").evaluate(ranking, gold).tolist() == [0.5]
    assert Metric.parse("map").evaluate(ranking, gold).tolist() == [(1 + 2 / 3) / 2]


def test_queries_without_an_answer_or_without_gold_score_zero() -> None:
    rankings = np.array([[-1, -1], [1, 2], [3, -1]], np.int32)
    gold = [{5: 1}, {}, {3: 2}]
    for text in EVERY_FORM:
        metric = Metric.parse(text)
        if metric.family.unit == "query":
            scores = metric.evaluate(rankings, gold)
            assert scores[:2].tolist() == [0, 0]
            assert scores[2] > 0


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (3, 0)])
def test_nothing_returned_or_nothing_asked(shape: tuple[int, int]) -> None:
    judgments = Judgments.from_pairs(range(shape[0]), range(shape[0]), count=shape[0])
    for text in EVERY_FORM:
        scores = Metric.parse(text).evaluate(np.zeros(shape, np.int32), judgments)
        assert scores.tolist() == [0.0] * shape[0]


def test_blocks_of_any_size_find_the_same_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(0)
    rankings = np.array([generator.permutation(40)[:15] for _ in range(30)], np.int32)
    gold = Judgments.from_dicts(
        [{int(item): 1 for item in generator.choice(40, 5, replace=False)} for _ in range(30)]
    )
    whole = locate(rankings, gold).ranks
    monkeypatch.setattr(judgments_module, "_COMPARED_AT_ONCE", 50)
    assert locate(rankings, gold).ranks.tolist() == whole.tolist()
    assert locate(np.asfortranarray(rankings.astype(np.int64)), gold).ranks.tolist() == (
        whole.tolist()
    )


@pytest.mark.parametrize("text", EVERY_FORM)
def test_metrics_print_what_they_parse(text: str) -> None:
    metric = Metric.parse(text)
    assert str(metric) == text
    assert Metric.parse(text.upper()) == metric
    assert len({metric, Metric.parse(text)}) == 1
    places = "whole ranking" if metric.cutoff is None else f"first {metric.cutoff}"
    assert places in metric.meaning
    assert "{" not in metric.meaning


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("htt@5", "did you mean hit@5"),
        ("success@10", "did you mean hit@10"),
        ("nope", r"expected one of chain_hit@k, hit@k, mrr\[@k\]"),
        ("hit", "hit@10"),
        ("hit@0", "whole number above 0"),
        ("hit@-3", "whole number above 0"),
        ("mrr@", "whole number above 0"),
        ("ndcg@ten", "whole number above 0"),
        ("", "is no metric"),
    ],
)
def test_what_is_no_metric_is_explained(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Metric.parse(text)


def test_every_wrong_metric_is_named_at_once() -> None:
    with pytest.raises(InputError) as caught:
        parse_metrics(["hit@5,foo", "mrr bar@2"])
    assert "'foo'" in str(caught.value)
    assert "'bar@2'" in str(caught.value)
    assert parse_metrics(["hit@5, hit@5", "map"]) == (Metric("hit", 5), Metric("map"))


def test_a_metric_cannot_be_made_wrong() -> None:
    for name, cutoff in [("hit", None), ("hit", 0), ("nope", 3)]:
        with pytest.raises(InputError):
            Metric(name, cutoff)


@pytest.mark.parametrize(
    ("rankings", "message"),
    [
        ([[1], [2]], "2 rankings for 1 judged"),
        ([1], "shape"),
        ([[1.5]], "integer"),
    ],
)
def test_rankings_that_do_not_fit_are_refused(rankings: list[object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        locate(rankings, Judgments.from_dicts([{1: 1}]))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("queries", "targets", "grades", "message"),
    [
        ([0, 1], [1], None, "same number"),
        ([2], [1], None, "query numbers reach 2..2"),
        ([0], [-1], None, "target ids reach -1..-1"),
        ([0], [2**31], None, "target ids"),
        ([0], [1], [2**40], "grades reach"),
        ([1, 0, 1], [4, 4, 4], None, "query 1 has the target 4 twice"),
    ],
)
def test_judgments_that_cannot_be_are_refused(
    queries: list[int], targets: list[int], grades: list[int] | None, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        Judgments.from_pairs(queries, targets, grades, count=2)


def test_shares_get_wilson_and_means_the_bootstrap() -> None:
    found = locate([[4, 9], [7, 8], [5, 1]], Judgments.from_dicts([{4: 1, 9: 1}, {8: 1}, {6: 1}]))
    chain = estimate(Metric.parse("chain_hit@2"), found)
    assert (chain.mean, chain.hits, chain.n, chain.queries) == (0.75, 3, 4, 3)
    assert (chain.low, chain.high) == wilson(3, 4)
    mean = estimate(Metric.parse("mrr"), found, seed=1)
    assert (mean.mean, mean.hits, mean.n) == (0.5, None, 3)
    assert 0 <= mean.low < 0.5 < mean.high <= 1
    nothing = estimate(
        Metric.parse("hit@1"), locate(np.zeros((0, 3), int), Judgments.from_dicts([]))
    )
    assert (nothing.low, nothing.high, nothing.n) == (0.0, 1.0, 0)


def test_the_room_imports_numpy_and_nothing_heavier() -> None:
    code = (
        "import sys; before = set(sys.modules); import fastrecall.measure; "
        "print(sorted({m.partition('.')[0] for m in set(sys.modules) - before}"
        " & {'scipy', 'pyarrow', 'statsmodels', 'rich', 'onnxruntime', 'pandas'}))"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    assert output.stdout.strip() == "[]"
