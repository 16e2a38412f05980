"""The search of a range of rows, block after block: what a task of exact search does."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
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
        InputError: as `read_rows`; a row that is not finite.
    """
    rows = read_rows(source, start, stop)
    with told_by_row(rows, start):
        return _core.ExactIndex(rows, storage="int8" if codes else "float32", threads=threads)


def read_rows(source: VectorSource, start: int, stop: int) -> Vectors:
    """The rows from *start* to before *stop*.

    Raises:
        InputError: the source gave others than it said it has.
    """
    rows = source.read(start, stop)
    if rows.shape != (stop - start, source.dim):
        raise InputError(
            f"the source gave {rows.shape} for rows {start} to {stop}; "
            f"expected {(stop - start, source.dim)}"
        )
    return rows


@contextlib.contextmanager
def told_by_row(rows: Vectors, start: int) -> Iterator[None]:
    """Say of a value that is not finite in which row of the source it stands.

    Raises:
        InputError: what was raised inside, in those words if such a value is to blame.
    """
    try:
        yield
    except InputError as error:
        bad = np.argwhere(~np.isfinite(rows))
        if not len(bad):
            raise
        row, column = bad[0]
        raise InputError(
            f"vectors: row {start + row}, column {column} is {rows[row, column]}; "
            "expected finite numbers (float32)"
        ) from error
