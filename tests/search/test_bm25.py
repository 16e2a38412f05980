"""BM25 against the formula written out, bm25s, and an index rebuilt without the excluded node."""

from __future__ import annotations

import time

import numpy as np
import pytest
from tests.oracles import bm25 as oracle

from fastrecall.errors import InputError
from fastrecall.search.bm25 import BM25
from fastrecall.search.tokens import terms, words

VOCABULARY = [f"w{i}" for i in range(40)] + ["fooBar", "a::b", "x_y", "1.3", "死锁", "#12"]


def random_texts(count, seed, longest=30):
    rng = np.random.default_rng(seed)
    odds = 1 / np.arange(1, len(VOCABULARY) + 1)
    odds /= odds.sum()
    return [
        " ".join(rng.choice(VOCABULARY, size=rng.integers(0, longest), p=odds))
        for _ in range(count)
    ]


def as_terms(text):
    return [term for word in words(text) for term in terms(word)]


@pytest.fixture(scope="module")
def texts():
    return random_texts(300, seed=1)


@pytest.fixture(scope="module")
def queries():
    return [*random_texts(40, seed=2, longest=8), "", "nowhere", "w1 w1 w1 w2"]


@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.75), (0.0, 0.0), (2.0, 1.0), (0.9, 0.4)])
def test_scores_follow_the_formula(texts, queries, k1, b):
    index = BM25(texts, k1=k1, b=b)
    fields = [[as_terms(text) for text in texts]]
    for query in queries:
        expected = oracle.score_all(fields, [1.0], as_terms(query), k1=k1, b=b)
        np.testing.assert_allclose(index.scores(query), expected, rtol=1e-12)


def test_search_orders_by_score_then_lower_id(queries):
    texts = random_texts(100, seed=3, longest=6) * 3  # every score stands there three times
    index = BM25(texts)
    ids, scores = index.search(queries, 50)
    for row, query in enumerate(queries):
        found = index.scores(query)
        expected = oracle.ranking(found.astype(np.float32).tolist(), 50)
        assert ids[row, : len(expected)].tolist() == expected
        assert (ids[row, len(expected) :] == -1).all()
        np.testing.assert_array_equal(
            scores[row, : len(expected)], found[expected].astype(np.float32)
        )
        assert np.isnan(scores[row, len(expected) :]).all()


def test_weighted_fields_follow_the_formula(queries):
    titles, bodies = random_texts(120, seed=4, longest=6), random_texts(120, seed=5)
    weights = {"title": 2.3, "body": 0.7}
    index = BM25({"title": titles, "body": bodies}, weights=weights)
    fields = [[as_terms(text) for text in field] for field in (titles, bodies)]
    for query in queries:
        expected = oracle.score_all(fields, [2.3, 0.7], as_terms(query), k1=1.2, b=0.75)
        np.testing.assert_allclose(index.scores(query), expected, rtol=1e-6)


def test_excluding_a_node_equals_an_index_built_without_it(texts, queries):
    titles = random_texts(300, seed=6, longest=5)
    fields, weights = {"title": titles, "body": texts}, {"title": 2.3, "body": 0.7}
    index = BM25(fields, weights=weights)
    excluded = np.arange(len(queries)) * 7
    ids, scores = index.search(queries, 20, exclude=excluded)
    for row, query in enumerate(queries):
        gone = excluded[row]
        rest = {name: field[:gone] + field[gone + 1 :] for name, field in fields.items()}
        rebuilt = BM25(rest, weights=weights)
        np.testing.assert_array_equal(
            np.delete(index.scores(query, exclude=[gone]), gone), rebuilt.scores(query)
        )
        fewer, their_scores = rebuilt.search([query], 20)
        np.testing.assert_array_equal(ids[row], fewer[0] + (fewer[0] >= gone))
        np.testing.assert_array_equal(scores[row], their_scores[0])


def test_only_the_visible_nodes_make_the_statistics(texts, queries):
    visible = np.random.default_rng(7).random((len(queries), len(texts))) < 0.3
    ids, scores = BM25(texts).search(queries, 10, visible=visible)
    for row, query in enumerate(queries):
        there = np.flatnonzero(visible[row])
        fewer, their_scores = BM25([texts[i] for i in there]).search([query], 10)
        expected = np.where(fewer[0] >= 0, there[fewer[0]], -1)
        np.testing.assert_array_equal(ids[row], expected)
        np.testing.assert_array_equal(scores[row], their_scores[0])


def test_a_mask_filters_the_answer_and_leaves_the_statistics(texts, queries):
    index = BM25(texts)
    prs = np.arange(len(texts)) % 3 == 0
    ids, _ = index.search(queries, 10, mask=prs)
    for row, query in enumerate(queries):
        expected = oracle.ranking(index.scores(query).tolist(), 10, prs.tolist())
        assert ids[row, : len(expected)].tolist() == expected


def test_several_exclusions_padded_with_minus_one(texts):
    index = BM25(texts)
    both = np.array([[3, 8], [5, -1]])
    ids, scores = index.search(["w1 w2", "w1 w2"], 30, exclude=both)
    visible = np.ones((2, len(texts)), dtype=bool)
    visible[0, [3, 8]] = visible[1, 5] = False
    same, same_scores = index.search(["w1 w2", "w1 w2"], 30, visible=visible)
    np.testing.assert_array_equal(ids, same)
    np.testing.assert_array_equal(scores, same_scores)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_and_batches_change_nothing(texts, queries, threads):
    many = queries * 4
    excluded = np.arange(len(many))
    ids, scores = BM25(texts, threads=threads).search(many, 9, exclude=excluded)
    index = BM25(texts, threads=1)
    for row in range(0, len(many), 17):
        one, its_scores = index.search(many[row : row + 1], 9, exclude=excluded[row : row + 1])
        np.testing.assert_array_equal(ids[row], one[0])
        np.testing.assert_array_equal(scores[row], its_scores[0])


def test_masked_references_are_no_terms():
    texts = ["crash #12", "crash", "see #12"]
    assert BM25(texts, mask_references=True).search(["#12"], 3)[0].tolist() == [[-1, -1, -1]]
    assert BM25(texts).search(["#12"], 3)[0].tolist() == [[0, 2, -1]]


@pytest.mark.parametrize("texts", [[], ["", ""], ["!!", ""]])
def test_nothing_to_find_is_an_empty_answer(texts):
    index = BM25(texts)
    assert len(index) == len(texts)
    ids, scores = index.search(["a"], 2)
    assert ids.tolist() == [[-1, -1]]
    assert np.isnan(scores).all()


def test_excluding_the_only_text_leaves_nothing():
    assert BM25(["a"]).search(["a"], 1, exclude=[0])[0].tolist() == [[-1]]


def test_agrees_with_bm25s_on_plain_words():
    bm25s = pytest.importorskip("bm25s")
    rng = np.random.default_rng(8)
    plain = [[f"t{w}" for w in rng.zipf(1.3, size=n) % 90] for n in rng.integers(1, 40, size=400)]
    theirs = bm25s.BM25(method="lucene", k1=1.2, b=0.75, backend="numpy")
    theirs.index(plain, show_progress=False)
    ours = BM25([" ".join(text) for text in plain], terms=lambda word: (word,))
    for text in plain[:30]:
        query = text[:6]
        np.testing.assert_allclose(
            ours.scores(" ".join(query)), theirs.get_scores(query), rtol=1e-5, atol=1e-6
        )


def test_twenty_thousand_texts_are_indexed_and_searched_in_seconds():
    texts = random_texts(20_000, seed=9, longest=80)
    start = time.process_time()
    index = BM25(texts)
    index.search(texts[:300], 32, exclude=np.arange(300))
    # Far above the usual time, so that only a change of complexity fails on a busy machine.
    assert time.process_time() - start < 15


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BM25({}), "no field"),
        (lambda: BM25({"a": ["x"], "b": []}), "different lengths"),
        (lambda: BM25({"a": ["x"]}, weights={"c": 1}), r"unknown fields \['c'\]"),
        (lambda: BM25({"a": ["x"]}, weights={"a": 0}), "above 0"),
        (lambda: BM25(["x"], k1=-1), "k1 is -1"),
        (lambda: BM25(["x"], b=2), "b is 2"),
        (lambda: BM25(["x"]).search(["x"], 0), "k is 0"),
        (lambda: BM25(["x"]).search(["x"], 1, exclude=[0, 0]), "exclude has 2 lists"),
        (lambda: BM25(["x"]).search(["x"], 1, exclude=[0.5]), r"exclude\[0\] is float64"),
        (lambda: BM25(["x"]).search(["x"], 1, exclude=[1]), "exclude holds 1; expected ids in 0"),
        (lambda: BM25(["x"]).scores("x", exclude=[-1]), "exclude holds -1"),
        (lambda: BM25(["x"]).search(["x"], 1, mask=np.ones(2, bool)), r"mask has shape \(1, 2\)"),
        (lambda: BM25(["x"]).search(["x"], 1, visible=np.ones(1)), "visible is float64"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(InputError, match=message):
        make()
