"""Breadth-first search over a whole graph, and many short walks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Edges = tuple[np.ndarray, np.ndarray]


class Graph:
    """Common ground. `bfs` goes from node 0 along all edges; `walks` from each query's seeds."""

    def __init__(self, edges: Edges, nodes: int, seeds: np.ndarray, depth: int) -> None:
        self.nodes, self.seeds, self.depth = nodes, seeds, depth
        self.depths = np.empty(0, np.int32)
        self.reached: Sequence[np.ndarray] = ()
        self.build(*edges)

    def build(self, sources: np.ndarray, targets: np.ndarray) -> None:
        raise NotImplementedError

    def set_threads(self, threads: int) -> None:
        """Peers run on one thread."""

    def bfs(self) -> None:
        raise NotImplementedError

    def walks(self) -> None:
        raise NotImplementedError

    def bfs_answer(self) -> np.ndarray:
        """How many edges away each node is; -1 where it cannot be reached."""
        return self.depths

    def walk_answers(self) -> list[np.ndarray]:
        """The sorted nodes that each query reached."""
        return [np.unique(np.asarray(nodes)) for nodes in self.reached]


class Fastrecall(Graph):
    def build(self, sources: np.ndarray, targets: np.ndarray) -> None:
        import harness  # noqa: F401  (finds the package in a checkout)
        from fastrecall.graph import Graph as OurGraph

        self.graph = OurGraph(sources, targets, nodes=self.nodes)

    def set_threads(self, threads: int) -> None:
        self.graph.threads = threads

    def bfs(self) -> None:
        self.depths = self.graph.bfs(0)

    def walks(self) -> None:
        self.table = self.graph.walk(self.seeds, depth=self.depth, budget=None)[0]

    def walk_answers(self) -> list[np.ndarray]:
        return [np.unique(row[row >= 0]) for row in self.table]


class Scipy(Graph):
    def build(self, sources: np.ndarray, targets: np.ndarray) -> None:
        from scipy.sparse import csr_matrix
        from scipy.sparse.csgraph import breadth_first_order

        ones = np.ones(len(sources), np.int8)
        self.matrix = csr_matrix((ones, (sources, targets)), shape=(self.nodes, self.nodes))
        self.run = breadth_first_order

    def bfs(self) -> None:
        self.order, self.predecessors = self.run(self.matrix, 0)

    def bfs_answer(self) -> np.ndarray:
        depths = np.full(self.nodes, -1, np.int32)
        depths[self.order[0]] = 0
        for node in self.order[1:].tolist():
            depths[node] = depths[self.predecessors[node]] + 1
        return depths


class Igraph(Graph):
    """`Graph.bfs`, and `Graph.neighborhood` for walks."""

    def build(self, sources: np.ndarray, targets: np.ndarray) -> None:
        import igraph

        pairs = np.column_stack([sources, targets])
        self.graph = igraph.Graph(n=self.nodes, edges=pairs, directed=True)

    def bfs(self) -> None:
        self.order, self.starts, self.parents = self.graph.bfs(0, mode="out")

    def bfs_answer(self) -> np.ndarray:
        depths = np.full(self.nodes, -1, np.int32)
        for depth, start in enumerate(self.starts[:-1]):
            depths[self.order[start : self.starts[depth + 1]]] = depth
        return depths

    def walks(self) -> None:
        hop = self.graph.neighborhood
        self.reached = [
            list(set().union(*hop(seeds.tolist(), order=self.depth, mode="out")))  # type: ignore[misc]
            for seeds in self.seeds
        ]


class IgraphDistances(Igraph):
    """`Graph.distances`, which is another way to the same answer."""

    def bfs(self) -> None:
        self.found = self.graph.distances(0, mode="out")[0]

    def bfs_answer(self) -> np.ndarray:
        found = np.array(self.found)
        return np.where(np.isfinite(found), found, -1).astype(np.int32)


class NumpyFrontiers(Graph):
    """Compressed rows and one array operation a level."""

    def build(self, sources: np.ndarray, targets: np.ndarray) -> None:
        order = np.argsort(sources, kind="stable")
        self.targets = targets[order]
        self.offsets = np.concatenate([[0], np.cumsum(np.bincount(sources, minlength=self.nodes))])

    def _levels(self, seeds: np.ndarray, depth: int | None) -> np.ndarray:
        depths = np.full(self.nodes, -1, np.int32)
        frontier, level = np.unique(seeds), 0
        depths[frontier] = 0
        while len(frontier) and (depth is None or level < depth):
            level += 1
            counts = self.offsets[frontier + 1] - self.offsets[frontier]
            skipped = self.offsets[frontier] - np.concatenate([[0], np.cumsum(counts)[:-1]])
            places = np.repeat(skipped, counts) + np.arange(counts.sum())
            reached = self.targets[places]
            frontier = np.unique(reached[depths[reached] < 0])
            depths[frontier] = level
        return depths

    def bfs(self) -> None:
        self.depths = self._levels(np.array([0]), None)

    def walks(self) -> None:
        self.reached = [
            np.flatnonzero(self._levels(seeds, self.depth) >= 0) for seeds in self.seeds
        ]
