"""The graph's rows, what it refuses, and full breadth-first search."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.bfs import bfs_depths, violations
from tests.oracles.walk import Edge, adjacency

from fastrecall.errors import InputError
from fastrecall.graph import Graph
from fastrecall.types import EDGE_TYPES


def random_edges(nodes: int, edges: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    return random.integers(0, nodes, edges), random.integers(0, nodes, edges)


@st.composite
def edge_lists(draw: st.DrawFn) -> tuple[int, list[Edge]]:
    nodes = draw(st.integers(1, 12))
    node = st.integers(0, nodes - 1)
    edge = st.builds(
        Edge, node, node, st.integers(0, 3), st.sampled_from([-1.0, 0.0, -0.0, 0.25, 0.5, 1.0])
    )
    return nodes, draw(st.lists(edge, max_size=40))


def graph_of(nodes: int, edges: list[Edge]) -> Graph:
    return Graph(
        np.array([edge.source for edge in edges], np.int32),
        np.array([edge.target for edge in edges], np.int32),
        types=np.array([edge.type for edge in edges], np.uint8),
        weights=np.array([edge.weight for edge in edges], np.float32),
        nodes=nodes,
    )


@given(edge_lists())
def test_rows_hold_every_edge_once_in_order(graph: tuple[int, list[Edge]]) -> None:
    nodes, edges = graph
    built = graph_of(nodes, edges)
    assert (built.nodes, built.edges) == (nodes, len(edges))
    for node in range(nodes):
        for backwards in (False, True):
            row = built.neighbours(node, backwards=backwards)
            got = list(zip(row.ids.tolist(), row.types.tolist(), row.weights.tolist(), strict=True))
            expected = [
                (edge.source if backwards else edge.target, edge.type, edge.weight)
                for edge in edges
                if (edge.target if backwards else edge.source) == node
            ]
            assert got == sorted(expected, key=lambda edge: (-edge[2], edge[0], edge[1]))


@given(edge_lists(), st.randoms(use_true_random=False))
def test_the_order_of_the_input_changes_nothing(
    graph: tuple[int, list[Edge]], random: object
) -> None:
    nodes, edges = graph
    shuffled = list(edges)
    random.shuffle(shuffled)
    one, other = graph_of(nodes, edges), graph_of(nodes, shuffled)
    for node in range(nodes):
        for a, b in zip(one.neighbours(node), other.neighbours(node), strict=True):
            assert a.tolist() == b.tolist()


@given(
    edge_lists(),
    st.data(),
    st.booleans(),
    st.sets(st.integers(0, len(EDGE_TYPES) - 1)),
)
def test_bfs_agrees_with_plain_python(
    graph: tuple[int, list[Edge]], data: st.DataObject, undirected: bool, types: set[int]
) -> None:
    nodes, edges = graph
    source = data.draw(st.integers(0, nodes - 1))
    rows = adjacency(edges, types=types, undirected=undirected)
    allowed = [(node, end) for node, row in rows.items() for _, end in row]
    depths = graph_of(nodes, edges).bfs(source, types=types, undirected=undirected)
    assert depths.tolist() == bfs_depths(nodes, allowed, source)


@pytest.mark.parametrize("degree", [0.5, 1, 2, 5, 40])
@pytest.mark.parametrize("undirected", [False, True])
def test_bfs_keeps_its_invariants_where_levels_change_sides(
    degree: float, undirected: bool
) -> None:
    nodes = 20_000
    starts, ends = random_edges(nodes, int(nodes * degree), seed=1)
    depths = Graph(starts, ends, nodes=nodes).bfs(7, undirected=undirected)
    edges = list(zip(starts.tolist(), ends.tolist(), strict=True))
    if undirected:
        edges += [(end, start) for start, end in edges]
    assert violations(nodes, edges, 7, depths.tolist()) == []


def test_bfs_comes_back_to_narrow_levels_after_wide_ones() -> None:
    # A star whose last leaf starts a long path: push, pull, then push again.
    leaves, path = 5_000, 300
    ends = list(range(1, leaves + path))
    starts = [0] * leaves + list(range(leaves, leaves + path - 1))
    depths = Graph(starts, ends, nodes=leaves + path).bfs(0)
    assert depths[leaves] == 1
    assert depths[-1] == path
    assert violations(leaves + path, list(zip(starts, ends, strict=True)), 0, depths.tolist()) == []


def test_the_oracle_of_bfs_finds_wrong_answers() -> None:
    edges = [(0, 1), (1, 2)]
    assert violations(3, edges, 0, [0, 1, 2]) == []
    assert violations(3, edges, 0, [0, 1, -1]) != []
    assert violations(3, edges, 0, [0, 1, 3]) != []
    assert violations(3, edges, 0, [0, 2, 2]) != []
    assert violations(3, edges, 0, [0, 0, 1]) != []


def test_a_graph_without_edges_or_nodes() -> None:
    empty = Graph([], [])
    assert (empty.nodes, empty.edges) == (0, 0)
    alone = Graph([], [], nodes=3)
    assert alone.bfs(1).tolist() == [-1, 0, -1]
    assert alone.neighbours(2).ids.tolist() == []
    with pytest.raises(InputError, match="source is 0; the graph has 0 nodes"):
        empty.bfs(0)


def test_nodes_follow_from_the_edges() -> None:
    assert Graph([0, 4], [2, 1]).nodes == 5


def test_types_go_by_name_or_number_and_for_one_or_all() -> None:
    by_name = Graph([0, 0], [1, 2], types=["closes", "similar"])
    assert by_name.neighbours(0).types.tolist() == [0, 1]
    assert Graph([0, 0], [1, 2], types="reverts").neighbours(0).types.tolist() == [4, 4]
    assert Graph([0], [1], types=np.array([5])).neighbours(0).types.tolist() == [5]
    assert by_name.bfs(0, types="similar").tolist() == [0, -1, 1]
    assert by_name.bfs(0, types=["similar", 0]).tolist() == [0, 1, 1]
    assert by_name.bfs(0, types=[]).tolist() == [0, -1, -1]


def test_two_nodes_may_be_joined_by_edges_of_several_types() -> None:
    graph = Graph([0, 0, 0], [1, 1, 1], types=["mentions", "closes", "mentions"])
    assert graph.neighbours(0).types.tolist() == [0, 3, 3]


def test_memory_is_what_the_docstring_says() -> None:
    starts, ends = random_edges(1000, 5000, seed=2)
    assert Graph(starts, ends, nodes=1000).nbytes == 8 * 1001 + 8 * 5000
    weights = np.ones(5000)
    types = np.arange(5000) % 3
    graph = Graph(starts, ends, nodes=1000, weights=weights, types=types)
    assert graph.nbytes == 8 * 1001 + 18 * 5000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sources": [0, 3]}, r"sources\[1\] is 3; expected a node from 0 to 2"),
        ({"targets": [-1, 0]}, r"targets\[0\] is -1; expected a node"),
        ({"sources": [0]}, "targets has 2 entries and sources has 1"),
        ({"sources": [0.0, 1.0]}, "sources is float64 .*; expected whole numbers"),
        ({"sources": [[0, 1]]}, r"sources is int64 \(1, 2\)"),
        ({"sources": [0, 2**40]}, "sources holds numbers that do not fit in int32"),
        ({"weights": [1.0, np.nan]}, r"weights\[1\] is nan; expected a finite number"),
        ({"weights": [np.inf, 1.0]}, r"weights\[0\] is inf"),
        ({"weights": [1.0]}, "weights has 1 entries and sources has 2"),
        ({"weights": ["a", "b"]}, "weights is .*; expected numbers"),
        ({"types": ["closes"]}, "types has 1 entries and sources has 2"),
        ({"types": "closing"}, "'closing' is no edge type; expected one of closes, similar"),
        ({"types": [0, 6]}, "6 is no edge type"),
        ({"types": np.array([0, 77])}, "77 is no edge type"),
        ({"nodes": -1}, "nodes is -1"),
        ({"nodes": 2**31}, "nodes is 2147483648"),
    ],
)
def test_what_cannot_be_a_graph_is_refused(arguments: dict[str, object], message: str) -> None:
    good: dict[str, object] = {"sources": [0, 1], "targets": [1, 2], "nodes": 3}
    with pytest.raises(InputError, match=message):
        Graph(**{**good, **arguments})


@pytest.mark.parametrize("node", [-1, 3, 2**40])
def test_a_node_outside_of_the_graph_is_refused(node: int) -> None:
    graph = Graph([0], [1], nodes=3)
    with pytest.raises(InputError, match=f"source is {node}; the graph has 3 nodes"):
        graph.bfs(node)
    with pytest.raises(InputError, match=f"node is {node}; the graph has 3 nodes"):
        graph.neighbours(node)
