"""Walks: exact orders, budgets, exclusion, threads; against walks in plain Python."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.test_graph import edge_lists, graph_of, random_edges
from tests.oracles.walk import Edge, adjacency, walk_by_depth, walk_by_seed

from fastrecall.errors import InputError
from fastrecall.graph import Graph

ORACLES = {"seed": walk_by_seed, "depth": walk_by_depth}
ORDERS = list(ORACLES)


def found(ids: np.ndarray, origins: np.ndarray) -> list[tuple[int, int]]:
    """(node, seed rank) of one query, without the places past the end."""
    assert ((ids >= 0) == (origins > 0)).all()
    assert (ids[np.count_nonzero(ids >= 0) :] == -1).all()
    return [(node, rank) for node, rank in zip(ids.tolist(), origins.tolist(), strict=True) if rank]


@given(
    edge_lists(),
    st.data(),
    st.sampled_from(ORDERS),
    st.integers(0, 4),
    st.none() | st.integers(0, 15),
    st.booleans(),
    st.none() | st.sets(st.integers(0, 3)),
)
def test_a_walk_agrees_with_plain_python(
    graph: tuple[int, list[Edge]],
    data: st.DataObject,
    order: str,
    depth: int,
    budget: int | None,
    undirected: bool,
    types: set[int] | None,
) -> None:
    nodes, edges = graph
    places = data.draw(st.integers(0, 5))
    row = st.lists(st.integers(-1, nodes - 1), min_size=places, max_size=places)
    seeds = data.draw(st.lists(row, min_size=1, max_size=4))
    exclude = [data.draw(st.lists(st.integers(0, nodes - 1), max_size=3)) for _ in seeds]
    ids, origins = graph_of(nodes, edges).walk(
        np.array(seeds, np.int64).reshape(len(seeds), places),
        depth=depth,
        budget=budget,
        order=order,
        types=types,
        undirected=undirected,
        exclude=exclude,
    )
    for query, (starts, gone) in enumerate(zip(seeds, exclude, strict=True)):
        rows = adjacency(edges, types=types, undirected=undirected, exclude=gone)
        expected = ORACLES[order](rows, starts, depth=depth, budget=budget, exclude=gone)
        assert found(ids[query], origins[query]) == expected
    if budget is not None:
        assert ids.shape == (len(seeds), budget)


@given(edge_lists(), st.data(), st.sampled_from(ORDERS), st.integers(0, 4))
def test_an_undirected_walk_is_a_walk_with_every_edge_doubled(
    graph: tuple[int, list[Edge]], data: st.DataObject, order: str, depth: int
) -> None:
    nodes, edges = graph
    seeds = [data.draw(st.lists(st.integers(0, nodes - 1), min_size=1, max_size=3))]
    doubled = [*edges, *(Edge(e.target, e.source, e.type, e.weight) for e in edges)]
    options = {"depth": depth, "budget": None, "order": order}
    one = graph_of(nodes, edges).walk(seeds, undirected=True, **options)
    other = graph_of(nodes, doubled).walk(seeds, **options)
    assert one[0].tolist() == other[0].tolist()
    assert one[1].tolist() == other[1].tolist()


@given(edge_lists(), st.data(), st.sampled_from(ORDERS), st.integers(0, 4), st.integers(0, 12))
def test_a_budget_cuts_and_changes_nothing_before_the_cut(
    graph: tuple[int, list[Edge]], data: st.DataObject, order: str, depth: int, budget: int
) -> None:
    nodes, edges = graph
    seeds = [data.draw(st.lists(st.integers(0, nodes - 1), min_size=1, max_size=4))]
    built = graph_of(nodes, edges)
    uncut = built.walk(seeds, depth=depth, budget=None, order=order)
    cut = built.walk(seeds, depth=depth, budget=budget, order=order)
    assert found(cut[0][0], cut[1][0]) == found(uncut[0][0], uncut[1][0])[:budget]


@given(edge_lists(), st.data(), st.sampled_from(ORDERS), st.integers(0, 4))
def test_an_excluded_node_is_a_node_that_was_never_there(
    graph: tuple[int, list[Edge]], data: st.DataObject, order: str, depth: int
) -> None:
    nodes, edges = graph
    gone = data.draw(st.integers(0, nodes - 1))
    seeds = [data.draw(st.lists(st.integers(0, nodes - 1), min_size=1, max_size=4))]
    without = [edge for edge in edges if gone not in (edge.source, edge.target)]
    options = {"depth": depth, "budget": None, "order": order}
    excluded = graph_of(nodes, edges).walk(seeds, exclude=[gone], **options)
    padded = [[-1 if seed == gone else seed for seed in seeds[0]]]
    absent = graph_of(nodes, without).walk(padded, **options)
    assert found(excluded[0][0], excluded[1][0]) == found(absent[0][0], absent[1][0])
    assert gone not in excluded[0]


def test_seed_order_takes_each_seed_with_all_it_leads_to() -> None:
    graph = Graph([0, 0, 5, 5], [7, 6, 6, 8], nodes=9)
    ids, origins = graph.walk([[5, 0, 8]], depth=3, budget=8)
    assert ids.tolist() == [[5, 6, 8, 0, 7, -1, -1, -1]]
    assert origins.tolist() == [[1, 1, 1, 2, 2, 0, 0, 0]]


def test_seed_order_passes_through_nodes_that_an_earlier_seed_emitted() -> None:
    # 0 -> 1 -> 2 -> 3: from 0 the walk ends at 2; the seed 1 emits nothing of its own but 3.
    graph = Graph([0, 1, 2], [1, 2, 3])
    ids, origins = graph.walk([[0, 1]], depth=2, budget=None)
    assert ids.tolist() == [[0, 1, 2, 3]]
    assert origins.tolist() == [[1, 1, 1, 2]]


def test_depth_order_takes_all_seeds_then_level_by_level() -> None:
    graph = Graph([0, 0, 1, 2], [2, 3, 3, 4], weights=[0.2, 0.9, 1.0, 1.0])
    ids, origins = graph.walk([[1, 0]], depth=2, budget=None, order="depth")
    # 3 belongs to seed 1 (rank 1) although the edge from 0 was there too.
    assert ids.tolist() == [[1, 0, 3, 2, 4]]
    assert origins.tolist() == [[1, 2, 1, 2, 2]]


def test_depth_order_prefers_the_most_similar_edge_then_the_lower_id() -> None:
    graph = Graph([0, 0, 0, 0], [4, 3, 2, 1], weights=[0.5, 0.5, 0.9, 0.1])
    ids, _ = graph.walk([[0]], depth=1, budget=None, order="depth")
    assert ids.tolist() == [[0, 2, 3, 4, 1]]


def test_depth_order_takes_a_nodes_highest_weight_within_its_seed() -> None:
    # 1 and 2 come from the same seed; 9 is reached from both, weakly and strongly.
    sources, targets = [0, 0, 1, 1, 2], [1, 2, 9, 8, 9]
    graph = Graph(sources, targets, weights=[0.9, 0.8, 0.1, 0.5, 0.7])
    ids, _ = graph.walk([[0]], depth=2, budget=None, order="depth")
    assert ids.tolist() == [[0, 1, 2, 9, 8]]


def test_only_edges_of_the_wanted_types_are_followed() -> None:
    graph = Graph([0, 0, 1], [1, 2, 3], types=["closes", "similar", "closes"])
    assert graph.walk([[0]], depth=2, budget=4, types="closes")[0].tolist() == [[0, 1, 3, -1]]
    assert graph.walk([[0]], depth=2, budget=4, types=["similar"])[0].tolist() == [[0, 2, -1, -1]]
    assert graph.walk([[0]], depth=2, budget=4, types=[])[0].tolist() == [[0, -1, -1, -1]]


@pytest.mark.parametrize("order", ORDERS)
def test_awkward_shapes(order: str) -> None:
    loops = Graph([0, 0, 0, 1], [0, 1, 1, 1], nodes=2)
    options = {"order": order, "depth": 3}
    assert loops.walk([[0, 0, -1, 1]], budget=5, **options)[0].tolist() == [[0, 1, -1, -1, -1]]
    assert loops.walk([[0]], budget=0, **options)[0].shape == (1, 0)
    assert loops.walk([[0]], budget=1, **options)[0].tolist() == [[0]]
    assert loops.walk([[-1, -1]], budget=None, **options)[0].shape == (1, 0)
    assert loops.walk(np.empty((0, 3), np.int32), budget=4, **options)[0].shape == (0, 4)
    assert loops.walk(np.empty((2, 0), np.int32), budget=1, **options)[0].tolist() == [[-1], [-1]]
    nothing = Graph([], [])
    assert nothing.walk([[-1]], budget=2, **options)[0].tolist() == [[-1, -1]]


def test_the_rank_of_a_repeated_seed_is_its_first_place() -> None:
    graph = Graph([], [], nodes=4)
    ids, origins = graph.walk([[3, -1, 3, 1]], depth=1, budget=4)
    assert ids.tolist() == [[3, 1, -1, -1]]
    assert origins.tolist() == [[1, 4, 0, 0]]


@pytest.mark.parametrize("order", ORDERS)
def test_20000_nodes_on_any_number_of_threads(order: str) -> None:
    nodes = 20_000
    starts, ends = random_edges(nodes, 100_000, seed=2)
    weights = np.random.default_rng(3).random(100_000, dtype=np.float32)
    seeds = np.random.default_rng(4).integers(0, nodes, (300, 8))
    exclude = seeds[:, 3]
    rows = adjacency(
        Edge(*edge)
        for edge in zip(
            starts.tolist(), ends.tolist(), [0] * len(starts), weights.tolist(), strict=True
        )
    )
    graphs = [
        Graph(starts, ends, weights=weights, nodes=nodes, threads=threads) for threads in (1, 2, 7)
    ]
    for budget in (64, None):
        (ids, origins), *others = [
            graph.walk(seeds, depth=3, budget=budget, exclude=exclude, order=order)
            for graph in graphs
        ]
        for other_ids, other_origins in others:
            assert np.array_equal(ids, other_ids)
            assert np.array_equal(origins, other_origins)
    for query in range(0, 300, 30):
        gone = int(exclude[query])
        kept = {
            node: [pair for pair in row if pair[1] != gone]
            for node, row in rows.items()
            if node != gone
        }
        expected = ORACLES[order](kept, seeds[query].tolist(), depth=3, budget=None, exclude=[gone])
        assert found(ids[query], origins[query]) == expected


def test_exclusions_take_any_of_their_forms() -> None:
    graph = Graph([0, 1], [2, 2], nodes=3)
    seeds = [[0], [1]]
    expected = [[0, -1], [1, 2]]
    for exclude in (
        [[2], []],
        np.array([2, -1]),
        np.array([[2, -1], [-1, -1]]),
        [np.array([2], np.int16), np.array([], np.int64)],
        [[2, 2, -1], [-1]],
    ):
        assert graph.walk(seeds, depth=1, budget=2, exclude=exclude)[0].tolist() == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seeds": [[3]]}, "a node in seeds is 3; the graph has 3 nodes"),
        ({"seeds": [0]}, r"seeds is int64 \(1,\); expected node ids \[queries, places\]"),
        ({"seeds": [[0.5]]}, "seeds is float64 .*; expected whole numbers"),
        ({"seeds": [[2**35]]}, "seeds holds numbers that do not fit in int32"),
        ({"depth": -1}, "depth is -1; expected 0 or more"),
        ({"budget": -2}, "budget is -2; expected 0 or more"),
        ({"order": "breadth"}, "order is 'breadth'; expected 'seed' or 'depth'"),
        ({"types": "close"}, "'close' is no edge type"),
        ({"exclude": [[0], [1]]}, "exclude has 2 lists; expected one for each of 1 queries"),
        ({"exclude": [[3]]}, "a node in exclude is 3; the graph has 3 nodes"),
        ({"exclude": [[-2]]}, r"exclude\[0\] has ids outside"),
        ({"exclude": [[0.5]]}, r"exclude\[0\] is float64"),
        ({"exclude": [[[0]]]}, r"exclude\[0\] is int64 \(1, 1\)"),
        ({"exclude": np.zeros((1, 1, 1), int)}, "exclude has 3 dimensions"),
        ({"exclude": 3}, "exclude is 3; expected one list of ids a query"),
    ],
)
def test_what_cannot_be_walked_is_refused(arguments: dict[str, object], message: str) -> None:
    good: dict[str, object] = {"seeds": [[0]], "depth": 1, "budget": 2}
    with pytest.raises(InputError, match=message):
        Graph([0], [1], nodes=3).walk(**{**good, **arguments})


def test_a_graph_walks_from_several_threads_at_once() -> None:
    starts, ends = random_edges(2_000, 10_000, seed=5)
    graph = Graph(starts, ends, nodes=2_000, threads=2)
    seeds = np.arange(200).reshape(50, 4)
    expected, _ = graph.walk(seeds, depth=3, budget=50)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: graph.walk(seeds, depth=3, budget=50)[0], range(16)))
    assert all(np.array_equal(result, expected) for result in results)


def test_depth_costs_nothing_once_the_budget_is_full() -> None:
    graph = Graph([0, 0], [1, 2])
    started = time.process_time()
    assert graph.walk([[0]], depth=2**31 - 1, budget=2)[0].tolist() == [[0, 1]]
    assert time.process_time() - started < 1
