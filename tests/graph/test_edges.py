"""Edges from links and from nearest neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastrecall.errors import InputError
from fastrecall.graph import Edges, Graph, closing_edges, similar_edges, typed_edges
from fastrecall.types import EDGE_TYPES, Links


def links(*pairs: tuple[int, int]) -> Links:
    return Links(
        np.array([issue for issue, _ in pairs], np.int32),
        np.array([pr for _, pr in pairs], np.int32),
        np.ones(len(pairs), np.uint8),
    )


def test_closing_edges_lead_from_the_issue_to_the_pr() -> None:
    edges = closing_edges(links((0, 5), (1, 5), (1, 6)))
    graph = Graph.from_edges(edges, nodes=7)
    assert graph.neighbours(1).ids.tolist() == [5, 6]
    assert graph.neighbours(5).ids.tolist() == []
    assert {EDGE_TYPES[kind] for kind in edges.types} == {"closes"}


def test_other_links_stand_beside_the_closing_ones() -> None:
    edges = closing_edges(links((0, 5)), others={"duplicate": ([2], [0]), "reverts": ([6], [5])})
    graph = Graph.from_edges(edges, nodes=7)
    assert graph.walk([[2]], depth=2, budget=3)[0].tolist() == [[2, 0, 5]]
    assert graph.walk([[2]], depth=2, budget=3, types="closes")[0].tolist() == [[2, -1, -1]]


def test_no_links_make_no_edges() -> None:
    assert len(closing_edges(links())) == 0
    assert len(Edges.joined([])) == 0
    assert Graph.from_edges(Edges.joined([]), nodes=2).edges == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 1], [2], "closes"), "sources has 2 entries and targets has 1"),
        (([0.5], [2], "closes"), "sources is float64"),
        (([0], [-1], "closes"), "targets has ids outside"),
        (([0], [1], "fixes"), "'fixes' is no edge type"),
    ],
)
def test_what_cannot_be_an_edge_is_refused(arguments: tuple, message: str) -> None:
    with pytest.raises(InputError, match=message):
        typed_edges(*arguments)


@given(st.integers(1, 9), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_similar_edges_join_both_ways_with_the_higher_similarity(
    nodes: int, k: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    ids = random.integers(-1, nodes, (nodes, k)).astype(np.int32)
    scores = np.where(ids < 0, np.nan, random.integers(0, 4, (nodes, k)) / 4).astype(np.float32)
    expected: dict[tuple[int, int], float] = {}
    for node in range(nodes):
        for near, score in zip(ids[node].tolist(), scores[node].tolist(), strict=True):
            if near >= 0 and near != node:
                for pair in ((node, near), (near, node)):
                    expected[pair] = max(expected.get(pair, -1.0), score)
    edges = similar_edges(ids, scores)
    got = zip(edges.sources.tolist(), edges.targets.tolist(), strict=True)
    assert list(zip(got, edges.weights.tolist(), strict=True)) == sorted(expected.items())
    assert set(edges.types.tolist()) <= {EDGE_TYPES.index("similar")}


@pytest.mark.parametrize(
    ("ids", "scores", "message"),
    [
        ([[1]], [[0.5, 0.5]], "expected \\[nodes, k\\] for both"),
        ([1], [0.5], "expected \\[nodes, k\\] for both"),
        ([[0.5]], [[0.5]], "ids is float64"),
        ([[1]], [[0.5]], "ids names node 1 and has 1 rows"),
        ([[1], [0]], [[np.nan], [0.5]], "not finite beside a neighbour"),
    ],
)
def test_neighbours_that_cannot_be_edges_are_refused(ids: list, scores: list, message: str) -> None:
    with pytest.raises(InputError, match=message):
        similar_edges(np.array(ids), np.array(scores))
