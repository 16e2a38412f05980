"""The search of a range of rows, block after block: what a task of exact search does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fastrecall import _core
from fastrecall.errors import InputError
from fastrecall.search.blocks.parts import (
    Flags,
    IdsOfQueries,
    Range,
    merged,
    nothing_found,
    ranges,
)
from fastrecall.search.blocks.room import MANY_QUERIES, Room
from fastrecall.types import Ids, Scores, Vectors, VectorSource


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
        index = block_index(
            question.source, start, stop, codes=count >= MANY_QUERIES, threads=threads
        )
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
    source: VectorSource, start: int, stop: int, *, codes: bool, threads: int
) -> _core.ExactIndex:
    """An index of some rows, with *codes* of one byte a value, or as float32 alone.

    Raises:
        InputError: a row is not finite, or the source gave other rows than it said it has.
    """
    rows = source.read(start, stop)
    if rows.shape != (stop - start, source.dim):
        raise InputError(
            f"the source gave {rows.shape} for rows {start} to {stop}; "
            f"expected {(stop - start, source.dim)}"
        )
    try:
        return _core.ExactIndex(rows, storage="int8" if codes else "float32", threads=threads)
    except InputError as error:  # speaks of the row within the block
        bad = np.argwhere(~np.isfinite(rows))
        if not len(bad):
            raise
        row, column = bad[0]
        raise InputError(
            f"vectors: row {start + row}, column {column} is {rows[row, column]}; "
            "expected finite numbers (float32)"
        ) from error
