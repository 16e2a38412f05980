"""What the arms search in: the vectors, words and links of one corpus."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from fastrecall.graph import Graph
from fastrecall.graph.edges import closing_edges
from fastrecall.graph.knn import similar_edges
from fastrecall.search.bm25 import BM25
from fastrecall.search.exact import ExactIndex
from fastrecall.types import Ids, Links, Scores, Vectors


@dataclass(frozen=True)
class Memory:
    """One corpus, ready to be searched; each part is built on first use.

    ``texts`` are the node texts, ``vectors`` their embeddings in node order, ``is_pr`` marks the
    PR nodes, ``links`` the closing links that walks may follow. ``neighbours`` is how many nearest
    nodes each node is joined to by ``similar`` edges. ``knn`` may bring that graph from a cache.
    """

    texts: tuple[str, ...]
    vectors: Vectors
    is_pr: np.ndarray
    links: Links
    neighbours: int = 16
    threads: int | None = None
    knn: Callable[[ExactIndex, int], tuple[Ids, Scores]] = field(
        default=lambda index, k: index.knn_graph(k)
    )

    def __len__(self) -> int:
        return len(self.vectors)

    @cached_property
    def exact(self) -> ExactIndex:
        """Exact cosine search over all nodes."""
        return ExactIndex(self.vectors, threads=self.threads)

    @cached_property
    def bm25(self) -> BM25:
        """Okapi BM25 over the node texts."""
        return BM25(self.texts)

    @cached_property
    def closes(self) -> Graph:
        """The graph of ``closes`` edges, issue → PR."""
        return Graph.from_edges(closing_edges(self.links), nodes=len(self), threads=self.threads)

    @cached_property
    def similar(self) -> Graph:
        """The graph of ``similar`` edges: the nearest neighbours, in both directions."""
        ids, scores = self.knn(self.exact, min(self.neighbours, max(len(self) - 1, 0)))
        return Graph.from_edges(similar_edges(ids, scores), nodes=len(self), threads=self.threads)

    def with_links(self, links: Links) -> Memory:
        """The same corpus with other closing links; what was already built is shared."""
        other = Memory(
            self.texts, self.vectors, self.is_pr, links, self.neighbours, self.threads, self.knn
        )
        for part in ("exact", "bm25", "similar"):
            if part in self.__dict__:
                other.__dict__[part] = self.__dict__[part]
        return other
