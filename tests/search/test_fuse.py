"""Reciprocal rank fusion against its definition written as a loop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import fusion as oracle

from fastrecall.errors import InputError
from fastrecall.search.fuse import rrf

ids = st.integers(min_value=-1, max_value=9)


@given(
    rankings=st.lists(st.lists(ids, max_size=12), min_size=1, max_size=4),
    k=st.sampled_from([0, 1, 60, 7.5]),
    data=st.data(),
)
def test_flat_rankings_follow_the_definition(rankings, k, data):
    weights = data.draw(
        st.lists(
            st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=len(rankings), max_size=len(rankings)
        )
    )
    fused, scores = rrf(rankings, k=k, weights=weights)
    expected = oracle.fuse(rankings, k, weights)
    assert fused.tolist() == [node for node, _ in expected]
    np.testing.assert_array_equal(scores, np.array([s for _, s in expected], dtype=np.float32))


def test_a_batch_equals_its_queries_one_by_one():
    rng = np.random.default_rng(5)
    batch = [rng.integers(-1, 15, size=(20, width)) for width in (1, 7, 10)]
    fused, scores = rrf(batch, weights=[1, 2, 0.5])
    assert fused.dtype == np.int32
    assert scores.dtype == np.float32
    for row in range(20):
        one, one_scores = rrf([table[row] for table in batch], weights=[1, 2, 0.5])
        length = len(one)
        np.testing.assert_array_equal(fused[row, :length], one)
        np.testing.assert_array_equal(scores[row, :length], one_scores)
        assert (fused[row, length:] == -1).all()
        assert np.isnan(scores[row, length:]).all()


def test_ids_that_swap_ranks_tie_exactly_and_the_lower_id_wins():
    first, second, third = [4, 2, 8], [2, 8, 4], [8, 4, 2]
    fused, scores = rrf([first, second, third])
    assert fused.tolist() == [2, 4, 8]
    assert len(set(scores.tolist())) == 1


def test_two_lists_worked_out_by_hand():
    fused, scores = rrf([[10, 11], [11, 12]], weights=[0.6, 0.4])
    assert fused.tolist() == [11, 10, 12]
    np.testing.assert_allclose(scores, [0.6 / 62 + 0.4 / 61, 0.6 / 61, 0.4 / 62], rtol=1e-6)


def test_empty_lists_give_an_empty_ranking():
    fused, scores = rrf([[], []])
    assert fused.shape == scores.shape == (0,)
    fused, scores = rrf([np.full((3, 4), -1)])
    assert fused.shape == scores.shape == (3, 0)


@pytest.mark.parametrize(
    ("rankings", "options", "message"),
    [
        ([], {}, "no ranking"),
        ([[1], [[2]]], {}, "shape"),
        ([np.zeros((2, 3), int), np.zeros((3, 3), int)], {}, "3 queries, the first has 2"),
        ([[0.5]], {}, "float64"),
        ([[1]], {"k": -1}, "k is -1"),
        ([[1]], {"k": float("nan")}, "k is nan"),
        ([[1]], {"weights": [1, 1]}, "2 weights for 1"),
        ([[1]], {"weights": [float("inf")]}, "weights are"),
        ([[1]], {"weights": [-1]}, "weights are"),
    ],
)
def test_bad_input_is_named(rankings, options, message):
    with pytest.raises(InputError, match=message):
        rrf(rankings, **options)
