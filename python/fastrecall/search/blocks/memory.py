"""One corpus, ready to be searched, in files: what `Memory` is to those that fit in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fastrecall.execution import Executor
from fastrecall.graph import Graph, similar_edges
from fastrecall.search.blocks.bm25 import BlockedBM25
from fastrecall.search.blocks.exact import BlockedIndex
from fastrecall.types import VectorSource


@dataclass(frozen=True)
class BlockedMemory:
    """Searches as `Memory` does, with the same answers, block after block.

    ``folder`` keeps what takes long, so that a run goes on where an earlier one was stopped:
    counted words and nearest neighbours. ``budget`` bounds in bytes what a search allocates, each
    task of it where an ``executor`` runs them; the graph of ``similar`` edges comes on top, 16
    bytes an edge.
    """

    texts: Sequence[str]
    vectors: VectorSource
    is_pr: npt.NDArray[np.bool_]
    budget: int
    folder: Path
    neighbours: int = 16
    threads: int | None = None
    executor: Executor | None = None

    def __len__(self) -> int:
        return len(self.vectors)

    @cached_property
    def nearest(self) -> BlockedIndex:
        """Exact cosine search over all nodes."""
        return BlockedIndex(
            self.vectors, memory=self.budget, executor=self.executor, threads=self.threads
        )

    @cached_property
    def bm25(self) -> BlockedBM25:
        """Okapi BM25 over the node texts."""
        return BlockedBM25(
            self.texts,
            memory=self.budget,
            folder=self.folder / "words",
            executor=self.executor,
            threads=self.threads,
        )

    @cached_property
    def similar(self) -> Graph:
        """The graph of ``similar`` edges: the nearest neighbours, in both directions."""
        folder = self.folder / "neighbours"
        ids, scores = self.nearest.knn_graph(self.neighbours, folder=folder)
        return Graph.from_edges(similar_edges(ids, scores), nodes=len(self), threads=self.threads)
