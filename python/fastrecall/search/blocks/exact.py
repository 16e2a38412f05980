"""Exact cosine search over vectors that need not fit in memory."""

from __future__ import annotations

import os

import numpy as np
import numpy.typing as npt

from fastrecall import _core
from fastrecall._memory import parse_bytes
from fastrecall._ragged import IdLists
from fastrecall._term import progress
from fastrecall.errors import InputError
from fastrecall.execution import Executor, LocalExecutor
from fastrecall.search.blocks.knn import knn_graph
from fastrecall.search.blocks.parts import (
    Flags,
    IdsOfQueries,
    checked_flags,
    merged,
    ranges,
)
from fastrecall.search.blocks.room import Room
from fastrecall.search.blocks.scan import Question, search_range
from fastrecall.types import Ids, Scores, VectorSource

ROWS_OF_TASK = 1 << 17
"""Vectors that a task searches: enough that sending its results costs nothing beside."""


class BlockedIndex:
    """The k nearest vectors by cosine, exactly, read block after block.

    Answers are those of an `ExactIndex` over all rows, to the bit: a score depends on the two
    vectors alone, and rankings of parts are merged by score, then id. Nothing is kept between two
    searches; each reads all vectors once, so ask many questions at once.

    Args:
        source: where the vectors are read from.
        memory: upper bound of what a task allocates, in bytes or as ``"4GB"``: rows as read (of a
            mapped file: its pages while they are mapped), the index of a block, and each query's
            vector, lists and results. A batch that takes more than half is asked in parts. Not
            counted: the interpreter and its libraries (about 60 MB), the queries, masks and results
            that caller and answer hold, and what *source* keeps for itself (a
            `fastrecall.dataset.VectorDataset`: 32 MB).
        executor: what runs the tasks; in this process when ``None``.
        threads: threads of a task in this process; all usable cores when ``None``.

    Raises:
        InputError: no amount of memory; more vectors than ids (2³¹).

    >>> from fastrecall.search.blocks import ArraySource
    >>> index = BlockedIndex(ArraySource(np.eye(3)), memory="1MB")
    >>> index.search(np.array([0.0, 3.0, 4.0]), 2)[0]
    array([[2, 1]], dtype=int32)
    """

    def __init__(
        self,
        source: VectorSource,
        *,
        memory: int | str,
        executor: Executor | None = None,
        threads: int | None = None,
    ) -> None:
        if len(source) >= np.iinfo(np.int32).max:
            raise InputError(f"{len(source)} vectors; expected fewer than 2³¹, ids are int32")
        self._source = source
        self._memory = parse_bytes(memory)
        self._executor = executor or LocalExecutor(threads=threads)

    def __len__(self) -> int:
        return len(self._source)

    def __repr__(self) -> str:
        return f"BlockedIndex({len(self)} vectors, dim={self.dim}, memory={self._memory})"

    @property
    def dim(self) -> int:
        """Dimensions of a vector."""
        return self._source.dim

    def search(
        self,
        queries: npt.ArrayLike,
        k: int,
        *,
        exclude: IdLists | None = None,
        mask: Flags | None = None,
    ) -> tuple[Ids, Scores]:
        """The *k* best vectors for each query, best first: `ExactIndex.search`, block by block.

        Raises:
            InputError: as there, and when not one query and one vector fit in the memory.

        >>> from fastrecall.search.blocks import ArraySource
        >>> index = BlockedIndex(ArraySource(np.eye(3)), memory="1MB")
        >>> index.search(np.eye(3)[:2], 1, exclude=[0, -1])[0].tolist()
        [[1], [1]]
        """
        queries = np.asarray(queries)
        # An index of nothing finds what is wrong with the queries, and what is found in nothing.
        empty = _core.ExactIndex(np.empty((0, self.dim), np.float32), storage="float32")
        ids, scores = empty.search(queries, k)
        rows = np.ascontiguousarray(np.atleast_2d(queries), np.float32)
        absent = IdsOfQueries.of(exclude, queries=len(rows), size=len(self))
        allowed = checked_flags(mask, "mask", queries=len(rows), size=len(self))
        room = self._room(k)
        at_once = room.most_queries(len(rows))
        tasks = ranges(0, len(self), ROWS_OF_TASK)
        with progress("searching", len(tasks) * -(-len(rows) // at_once)) as advance:
            for begin, end in ranges(0, len(rows), at_once):
                question = Question(
                    self._source,
                    rows[begin:end],
                    room,
                    None if absent is None else absent.of_queries(begin, end),
                    allowed if allowed is None or len(allowed) == 1 else allowed[begin:end],
                )
                best = ids[begin:end], scores[begin:end]
                for found in self._executor.map(search_range, tasks, shared=question):
                    best = merged(best, found)
                    advance(1)
                ids[begin:end], scores[begin:end] = best
        return ids, scores

    def knn_graph(
        self, k: int, *, folder: str | os.PathLike[str] | None = None
    ) -> tuple[Ids, Scores]:
        """The *k* nearest other vectors of every vector: `ExactIndex.knn_graph`.

        Vectors that fit in the memory together are compared pair by pair; else each part of them
        asks all others, which takes twice as long.

        Args:
            k: how many, at least 1.
            folder: keeps each part of the graph as a file as soon as it is found, 8 bytes a
                neighbour. What is there from an earlier call, stopped or not, of the same vectors
                and the same *k* is not computed again; a part that is damaged or of other vectors
                is. With an executor of several machines, all of them must see it.

        Returns:
            ids int32 ``[n, k]`` and scores float32 ``[n, k]``; -1 and nan past the end.

        Raises:
            InputError: as `search`.
            CacheError: the folder cannot be written.

        >>> from fastrecall.search.blocks import ArraySource
        >>> vectors = np.array([[1.0, 0], [1, 1], [0, 1]])
        >>> BlockedIndex(ArraySource(vectors), memory="1MB").knn_graph(1)[0].ravel()
        array([1, 0, 1], dtype=int32)
        """
        if k < 1:
            raise InputError(f"k is {k}; expected 1 or more")
        return knn_graph(self._source, self._room(k), self._executor, folder)

    def _room(self, k: int) -> Room:
        return Room(self._memory, self.dim, k, self._executor.threads)
