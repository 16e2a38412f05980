"""Exact cosine search over vectors that need not fit in memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fastrecall import _core
from fastrecall._memory import parse_bytes
from fastrecall._ragged import IdLists
from fastrecall._term import progress
from fastrecall._threads import resolve_threads
from fastrecall.errors import InputError
from fastrecall.execution import Executor, LocalExecutor
from fastrecall.search.blocks.parts import (
    Flags,
    IdsOfQueries,
    Range,
    checked_flags,
    merged,
    nothing_found,
    ranges,
)
from fastrecall.search.blocks.room import MANY_QUERIES, Room
from fastrecall.types import Ids, Scores, Vectors, VectorSource

ROWS_OF_TASK = 1 << 18
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
            that caller and answer hold, and what *source* keeps for itself.
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
        self._threads = resolve_threads(threads)

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
        room = Room(self._memory, self.dim, k, self._threads)
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


@dataclass(frozen=True)
class Question:
    """What all tasks of a search share."""

    source: VectorSource
    queries: Vectors
    room: Room
    exclude: IdsOfQueries | None
    mask: Flags | None


def search_range(question: Question, task: Range, threads: int) -> tuple[Ids, Scores]:
    """The best among the rows of *task*, for each query."""
    count, k = len(question.queries), question.room.k
    masks = 0 if question.mask is None else len(question.mask)
    best = nothing_found(count, k)
    for start, stop in ranges(*task, question.room.rows_of_block(count, masks)):
        index = block_index(question.source, start, stop, count, threads)
        absent = None if question.exclude is None else question.exclude.within(start, stop)
        found = index.search(
            question.queries,
            k,
            exclude_offsets=None if absent is None else absent.offsets,
            exclude_ids=None if absent is None else absent.ids,
            mask=None if question.mask is None else question.mask[:, start:stop],
            threads=threads,
        )
        del index  # before the next one is made
        best = merged(best, found, start=start)
    return best


def block_index(
    source: VectorSource, start: int, stop: int, queries: int, threads: int
) -> _core.ExactIndex:
    """An index of some rows, in the form that is cheapest for so many queries.

    Raises:
        InputError: a row is not finite, or the source gave other rows than it said it has.
    """
    rows = source.read(start, stop)
    if rows.shape != (stop - start, source.dim):
        raise InputError(
            f"the source gave {rows.shape} for rows {start} to {stop}; "
            f"expected {(stop - start, source.dim)}"
        )
    storage = "int8" if queries >= MANY_QUERIES else "float32"
    try:
        return _core.ExactIndex(rows, storage=storage, threads=threads)
    except InputError as error:  # speaks of the row within the block
        bad = np.argwhere(~np.isfinite(rows))
        if not len(bad):
            raise
        row, column = bad[0]
        raise InputError(
            f"vectors: row {start + row}, column {column} is {rows[row, column]}; "
            "expected finite numbers (float32)"
        ) from error
