"""What the arms search in: the vectors and words of one corpus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from fastrecall._ragged import IdLists
from fastrecall.graph import Graph, similar_edges
from fastrecall.search.bm25 import BM25
from fastrecall.search.exact import ExactIndex
from fastrecall.types import Ids, Scores, Vectors


class WordSearch(Protocol):
    """What finds texts by their words: `BM25`, or what gives the same answers."""

    def search(
        self,
        queries: Sequence[str],
        k: int,
        *,
        exclude: IdLists | None = None,
        visible: npt.NDArray[np.bool_] | None = None,
        mask: npt.NDArray[np.bool_] | None = None,
    ) -> tuple[Ids, Scores]:
        """As `BM25.search`."""


class CosineSearch(Protocol):
    """What finds the nearest vectors: `ExactIndex`, or something that approximates it."""

    def search(
        self,
        queries: npt.ArrayLike,
        k: int,
        *,
        exclude: IdLists | None = None,
        mask: npt.NDArray[np.bool_] | None = None,
    ) -> tuple[Ids, Scores]:
        """As `ExactIndex.search`."""


class Searched(Protocol):
    """What the arms need of a memory, whether it is in memory or in files."""

    def __len__(self) -> int: ...

    @property
    def is_pr(self) -> npt.NDArray[np.bool_]:
        """Which nodes are PRs."""

    @property
    def threads(self) -> int | None:
        """Threads that searches and walks use."""

    @property
    def nearest(self) -> CosineSearch:
        """What answers which nodes are nearest to a question."""

    @property
    def bm25(self) -> WordSearch:
        """What answers which nodes share words with a question."""

    @property
    def similar(self) -> Graph:
        """The graph of ``similar`` edges."""


@dataclass(frozen=True)
class Memory:
    """One corpus, ready to be searched; each part is built on first use.

    ``texts`` are the node texts, ``vectors`` their embeddings in node order, ``is_pr`` marks the
    PR nodes. ``neighbours`` is how many nearest nodes each node is joined to by ``similar`` edges.
    """

    texts: tuple[str, ...]
    vectors: Vectors
    is_pr: npt.NDArray[np.bool_]
    neighbours: int = 16
    threads: int | None = None

    def __len__(self) -> int:
        return len(self.vectors)

    @cached_property
    def exact(self) -> ExactIndex:
        """Exact cosine search over all nodes."""
        return ExactIndex(self.vectors, threads=self.threads)

    @property
    def nearest(self) -> CosineSearch:
        """What answers which nodes are nearest to a question."""
        return self.exact

    @cached_property
    def bm25(self) -> BM25:
        """Okapi BM25 over the node texts."""
        return BM25(self.texts, threads=self.threads)

    @cached_property
    def similar(self) -> Graph:
        """The graph of ``similar`` edges: the nearest neighbours, in both directions."""
        ids, scores = self.exact.knn_graph(self.neighbours)
        return Graph.from_edges(similar_edges(ids, scores), nodes=len(self), threads=self.threads)
