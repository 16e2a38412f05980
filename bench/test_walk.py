"""Graph walks beside their peers, in one process; `bench/goals.py` has the last word."""

from __future__ import annotations

import numpy as np
import pytest

from contenders import graph
from harness import data

NODES, QUERIES, DEPTH = 20_000, 300, 3

CONTENDERS = {
    "fastrecall": graph.Fastrecall,
    "scipy": graph.Scipy,
    "igraph": graph.Igraph,
    "numpy": graph.NumpyFrontiers,
}


@pytest.fixture(scope="module", params=CONTENDERS)
def contender(request, make):
    seeds = np.random.default_rng(3).integers(0, NODES, (QUERIES, 8), dtype=np.int32)
    edges = data.random_edges(NODES, 5 * NODES, 2)
    return make(CONTENDERS[request.param], edges, NODES, seeds, DEPTH)


@pytest.mark.benchmark(group="full breadth-first search")
def test_bfs(benchmark, contender):
    benchmark(contender.bfs)


@pytest.mark.benchmark(group=f"{QUERIES} walks of depth {DEPTH}")
def test_walks(benchmark, contender):
    if isinstance(contender, graph.Scipy):
        pytest.skip("scipy's search has no depth")
    benchmark(contender.walks)


@pytest.mark.benchmark(group="building a graph")
def test_build(benchmark):
    from fastrecall.graph import Graph

    sources, targets = data.random_edges(NODES, 5 * NODES, 2)
    benchmark(Graph, sources, targets, nodes=NODES)
