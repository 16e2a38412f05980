"""An index that was opened: what the arms search in, without building any of it."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fastrecall._ragged import IdLists, flatten_lists
from fastrecall.embedding import ModelInfo, embed_question
from fastrecall.graph import Graph, typed_edges
from fastrecall.search.bm25 import BM25, PostingLists
from fastrecall.search.hnsw import HNSW
from fastrecall.search.index.closeness import Closeness, is_rare, names_in
from fastrecall.search.index.folder import Arrays
from fastrecall.search.index.place import Manifest
from fastrecall.search.index.strings import SortedTerms, Strings
from fastrecall.search.index.tickets import StoredTickets
from fastrecall.search.memory import CosineSearch, Memory
from fastrecall.types import Ids, Scores, Vectors

_EF = 200
"""Candidates of an approximate walk: deep enough for lists of 100."""


@dataclass(frozen=True)
class StoredMemory(Memory):
    """A memory whose parts were made when the index was built; ``texts`` are not kept."""

    words: BM25 | None = None
    ann: HNSW | None = None

    @property
    def nearest(self) -> CosineSearch:
        """The approximate index when there is one, else the exact one."""
        return self.exact if self.ann is None else _Walked(self.ann)

    @cached_property
    def bm25(self) -> BM25:
        """The stored postings."""
        assert self.words is not None
        return self.words


@dataclass(frozen=True)
class _Walked:
    """Approximate search with the filters of the exact one."""

    index: HNSW

    def search(
        self,
        queries: npt.ArrayLike,
        k: int,
        *,
        exclude: IdLists | None = None,
        mask: npt.NDArray[np.bool_] | None = None,
    ) -> tuple[Ids, Scores]:
        rows = np.atleast_2d(np.asarray(queries))
        shown = np.ones((len(rows), len(self.index)), np.bool_)
        if mask is not None:
            shown &= mask
        if exclude is not None:
            offsets, absent = flatten_lists(exclude, queries=len(rows), name="exclude")
            shown[np.repeat(np.arange(len(rows)), np.diff(offsets)), absent] = False
        found = [
            self.index.search(query, k, ef=_EF, mask=None if visible.all() else visible)
            for query, visible in zip(rows, shown, strict=True)
        ]
        return np.concatenate([ids for ids, _ in found]), np.concatenate([s for _, s in found])


class Index:
    """An index on disk: tickets, their memory, the closing links between them.

    The model loads in the background from the moment of opening.
    """

    def __init__(
        self,
        folder: Path,
        manifest: Manifest,
        arrays: Arrays,
        ann: HNSW | None,
        model: ModelInfo,
        loaded: Future[Vectors],
        threads: int | None,
    ) -> None:
        self.folder, self.manifest = folder, manifest
        self.tickets = StoredTickets(arrays)
        self.closeness = Closeness(**manifest.closeness)
        self.model, self._loaded = model, loaded
        self._lists = PostingLists(*(arrays[f"bm25_{name}"] for name in PostingLists._fields))
        self._terms = SortedTerms(
            Strings(arrays["term_bytes"], arrays["term_ends"]), arrays["term_numbers"]
        )
        self.memory = StoredMemory(
            texts=(),
            vectors=arrays["vectors"],
            is_pr=self.tickets.is_pr,
            threads=threads,
            words=BM25.from_lists(self._lists, self._terms, threads=threads),
            ann=ann,
        )
        self.links: tuple[Ids, Ids] = (arrays["link_issues"], arrays["link_prs"])
        self.closes = Graph.from_edges(
            typed_edges(*self.links, "closes"), nodes=len(self), threads=threads
        )

    def __len__(self) -> int:
        return len(self.tickets)

    def __repr__(self) -> str:
        return f"Index({self.manifest.corpus['name']!r}, {len(self)} tickets)"

    def vector_of(self, question: str) -> Vectors:
        """The unit vector ``[dim]`` of a question."""
        self._loaded.result()
        return embed_question(question, self.model)

    def named_in(self, question: str) -> Ids:
        """The nodes that hold a rare name of the question (see `closeness.names_in`), ascending."""
        nodes: list[npt.NDArray[np.int32]] = []
        for name in names_in(question):
            term = self._terms.get(name)
            if term is not None:
                first, last = self._lists.offsets[term : term + 2]
                if is_rare(int(last - first), len(self)):
                    nodes.append(self._lists.nodes[first:last])
        return np.unique(np.concatenate(nodes)) if nodes else np.empty(0, np.int32)

    def changed_origin(self) -> str | None:
        """A file that the corpus was read from and that is not what it was; None: none."""
        for path, size, time_ns in self.manifest.origins:
            try:
                stat = Path(path).stat()
            except OSError:
                return path
            if (stat.st_size, stat.st_mtime_ns) != (size, time_ns):
                return path
        return None
