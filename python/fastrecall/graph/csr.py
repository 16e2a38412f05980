"""The graph: typed edges as compressed sparse rows, walks from seeds, breadth-first search."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from fastrecall import _core
from fastrecall._ragged import IdLists, flatten_lists
from fastrecall._threads import resolve_threads
from fastrecall.graph.edges import Edges, edge_type
from fastrecall.types import Ids, Scores

EdgeTypes: TypeAlias = str | int | Iterable[str | int]
"""One edge type or several, by name (see `EDGE_TYPES`) or number."""

_ALL_TYPES = 2**32 - 1


class Neighbours(NamedTuple):
    """The edges of one node: the nodes at the other end, edge types, weights."""

    ids: Ids
    types: npt.NDArray[np.uint8]
    weights: Scores


class Graph:
    """A directed graph over nodes 0, 1, 2, … with typed and, if wanted, weighted edges.

    Two nodes may be joined by edges of different types. Edges are stored in both directions, each
    node's in the order (higher weight, lower id), in which walks take them. Building is linear in
    nodes and edges; memory is 8 bytes a node and 8 an edge, 16 with weights, 2 more with types.

    Args:
        sources: node ids [edges].
        targets: node ids [edges].
        types: a name or number of `EDGE_TYPES` for all edges, or one an edge; ``closes`` when left
            out.
        weights: one an edge, finite; 1 when left out.
        nodes: how many nodes there are; one more than the highest id when left out.
        threads: threads that walks use; all usable cores when ``None``.

    Raises:
        InputError: ids, types or weights that cannot be used; the message names the place.

    >>> graph = Graph([0, 0, 1], [1, 2, 3], nodes=5)
    >>> graph.walk([[0]], depth=1, budget=4)[0]
    array([[ 0,  1,  2, -1]], dtype=int32)
    >>> graph.bfs(0).tolist()
    [0, 1, 1, 2, -1]
    """

    def __init__(
        self,
        sources: npt.ArrayLike,
        targets: npt.ArrayLike,
        *,
        types: EdgeTypes | npt.NDArray[np.uint8] | None = None,
        weights: npt.ArrayLike | None = None,
        nodes: int | None = None,
        threads: int | None = None,
    ) -> None:
        self.threads = resolve_threads(threads)
        self._core = _core.Graph(
            sources,
            targets,
            types=None if types is None else _types_of_edges(types, len(np.atleast_1d(sources))),
            weights=weights,
            nodes=nodes,
        )

    @classmethod
    def from_edges(cls, edges: Edges, *, nodes: int, threads: int | None = None) -> Graph:
        """The graph of `Edges`, as `closing_edges`, `similar_edges` and `Edges.joined` make them.

        >>> from fastrecall.graph import typed_edges
        >>> Graph.from_edges(typed_edges([0], [1], "closes"), nodes=2).edges
        1
        """
        return cls(
            edges.sources,
            edges.targets,
            types=edges.types,
            weights=edges.weights,
            nodes=nodes,
            threads=threads,
        )

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return self._core.nodes

    @property
    def edges(self) -> int:
        """How many edges there are, each direction counted once."""
        return self._core.edges

    @property
    def nbytes(self) -> int:
        """Memory of the stored edges in bytes."""
        return self._core.nbytes

    def __repr__(self) -> str:
        return f"Graph(nodes={self.nodes}, edges={self.edges})"

    def walk(
        self,
        seeds: npt.ArrayLike,
        *,
        depth: int,
        budget: int | None,
        types: EdgeTypes | None = None,
        undirected: bool = False,
        exclude: IdLists | None = None,
        order: Literal["seed", "depth"] = "seed",
    ) -> tuple[Ids, npt.NDArray[np.int32]]:
        """Walk from each query's seeds along the edges; what is found comes in a fixed order.

        The result does not depend on the thread count.

        ``order="seed"``: seeds by rank; each emits itself and then, breadth-first and at most
        *depth* edges away, every node that was not emitted before. A parent's neighbours come by
        (higher weight, lower id). What a seed reaches does not depend on the seeds before it: nodes
        emitted earlier are passed through, since this seed may be nearer to them.

        ``order="depth"``: all seeds at once, by (depth, seed rank, weight of the discovering edge,
        lower id). A node's seed is the best-ranked one that reaches it at its least depth; its
        weight is the highest of the edges that lead to it from that seed's previous level.

        Args:
            seeds: node ids by rank [queries, seeds]; -1 marks an empty place. A repeated seed
                counts once.
            depth: how many edges a walk may follow; 0 returns the seeds.
            budget: how many nodes a query may return, its seeds included; ``None`` for no bound.
            types: the edge types that may be used; all when left out.
            undirected: also follow edges backwards, as if each edge had its reverse.
            exclude: nodes that do not exist for a query, neither returned nor passed through: one
                id a query [queries], rows padded with -1 [queries, places], or a list a query.
            order: ``seed`` or ``depth``, see above.

        Returns:
            ids int32 [queries, budget] (without a budget: as wide as the longest), -1 past the end;
            and origins of the same shape, the rank (from 1) of the seed that led to each node, 0
            past the end.

        Raises:
            InputError: ids outside of the graph, or a depth or budget below 0.

        >>> graph = Graph([0, 1, 4], [1, 2, 2], nodes=5)
        >>> graph.walk([[4, 0]], depth=2, budget=None)
        (array([[4, 2, 0, 1]], dtype=int32), array([[1, 1, 2, 2]], dtype=int32))
        >>> graph.walk([[4, 0]], depth=2, budget=3, exclude=[2], order="depth")[0]
        array([[4, 0, 1]], dtype=int32)
        """
        seeds = np.asarray(seeds)
        offsets, excluded = None, None
        if exclude is not None:
            queries = len(seeds) if seeds.ndim else 0
            offsets, excluded = flatten_lists(exclude, queries=queries, name="exclude")
        return self._core.walk(
            seeds,
            depth=depth,
            budget=budget,
            order=order,
            types=_type_mask(types),
            undirected=undirected,
            exclude_offsets=offsets,
            exclude_ids=excluded,
            threads=self.threads,
        )

    def bfs(
        self, source: int, *, types: EdgeTypes | None = None, undirected: bool = False
    ) -> npt.NDArray[np.int32]:
        """How many edges away every node is from *source*; -1 where it cannot be reached.

        Returns depths int32 [nodes]. Runs on one thread.

        Raises:
            InputError: *source* is no node.

        >>> Graph([0, 2], [1, 1], nodes=3).bfs(0, undirected=True).tolist()
        [0, 1, 2]
        """
        return self._core.bfs(source, types=_type_mask(types), undirected=undirected)

    def neighbours(self, node: int, *, backwards: bool = False) -> Neighbours:
        """The edges that leave *node*, or with *backwards* those that enter it.

        Ordered by (higher weight, lower id, lower type number).

        Raises:
            InputError: *node* is no node.

        >>> Graph([0, 0], [2, 1], weights=[0.5, 0.5]).neighbours(0).ids.tolist()
        [1, 2]
        """
        return Neighbours(*self._core.neighbours(node, backwards=backwards))


def _type_mask(types: EdgeTypes | None) -> int:
    """Bit t set for each type t that may be used."""
    if types is None:
        return _ALL_TYPES
    names = [types] if isinstance(types, str | int | np.integer) else types
    return sum({1 << edge_type(name) for name in names})


def _types_of_edges(
    types: EdgeTypes | npt.NDArray[np.uint8], edges: int
) -> npt.NDArray[np.integer]:
    """Type numbers [edges]."""
    if isinstance(types, str | int | np.integer):
        return np.full(edges, edge_type(types), np.uint8)
    if isinstance(types, np.ndarray) and types.dtype.kind in "iu":
        for number in np.unique(types):
            edge_type(int(number))
        return types
    return np.array([edge_type(name) for name in types], np.uint8)
