"""What the parts of a search have in common: row ranges, filters within one, and the merge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fastrecall._ragged import IdLists, flatten_lists
from fastrecall.errors import InputError
from fastrecall.types import Ids, Scores

Range = tuple[int, int]
"""Rows from the first number to before the second."""

Flags = npt.NDArray[np.bool_]

LEFT_ALONE_S = 3600.0
"""Seconds after which a file that was begun beside a part is known to be a killed task's: no lock
tells, since tasks run anywhere."""


def ranges(start: int, stop: int, rows: int) -> list[Range]:
    """The rows from *start* to before *stop*, cut into ranges of at most *rows*.

    >>> ranges(0, 7, 3)
    [(0, 3), (3, 6), (6, 7)]
    """
    return [(first, min(first + rows, stop)) for first in range(start, stop, rows)]


@dataclass(frozen=True)
class IdsOfQueries:
    """Ids that are left out, a list a query: ``ids[offsets[i] : offsets[i + 1]]``."""

    offsets: npt.NDArray[np.int64]
    ids: Ids

    @classmethod
    def of(cls, lists: IdLists | None, *, queries: int, size: int) -> IdsOfQueries | None:
        """The lists of an ``exclude`` argument.

        Raises:
            InputError: not one list a query, or an id that is not among *size* rows.
        """
        if lists is None:
            return None
        offsets, ids = flatten_lists(lists, queries=queries, name="exclude")
        if ids.size and ids.max() >= size:
            raise InputError(f"exclude holds id {ids.max()}; expected ids in 0..{size} (exclusive)")
        return cls(offsets, ids)

    def within(self, start: int, stop: int) -> IdsOfQueries:
        """Those between *start* and *stop*, counted from *start*.

        >>> lists = IdsOfQueries.of([[1, 5], [], [6]], queries=3, size=9)
        >>> part = lists.within(5, 9)
        >>> part.offsets.tolist(), part.ids.tolist()
        ([0, 1, 1, 2], [0, 1])
        """
        inside = (self.ids >= start) & (self.ids < stop)
        before = np.concatenate([[0], np.cumsum(inside)])
        return IdsOfQueries(before[self.offsets], self.ids[inside] - np.int32(start))

    def of_queries(self, start: int, stop: int) -> IdsOfQueries:
        """The lists of the queries from *start* to before *stop*."""
        first, last = self.offsets[start], self.offsets[stop]
        return IdsOfQueries(self.offsets[start : stop + 1] - first, self.ids[first:last])


def checked_flags(flags: Flags | None, name: str, *, queries: int, size: int) -> Flags | None:
    """A ``mask`` as a matrix of one row, or one a query.

    Raises:
        InputError: no booleans, or a shape that does not fit.
    """
    if flags is None:
        return None
    flags = np.asarray(flags)
    if flags.dtype != np.bool_ or flags.shape not in ((size,), (1, size), (queries, size)):
        raise InputError(
            f"{name} is {flags.dtype} {flags.shape}; "
            f"expected booleans, [n] or [queries, n] with n = {size}"
        )
    return np.atleast_2d(flags)


def nothing_found(queries: int, k: int) -> tuple[Ids, Scores]:
    """Empty rankings.

    >>> nothing_found(1, 2)
    (array([[-1, -1]], dtype=int32), array([[nan, nan]], dtype=float32))
    """
    return np.full((queries, k), -1, np.int32), np.full((queries, k), np.nan, np.float32)


def merged(
    best: tuple[Ids, Scores], found: tuple[Ids, Scores], *, start: int = 0
) -> tuple[Ids, Scores]:
    """The best of two rankings a query; ids of *found* count from *start*, above those of *best*.

    Both are ordered by score, then id, and all ids of *best* are lower: a stable sort by score
    alone orders the whole. Each pair of a query and a vector was scored once, in float64, by
    whichever part holds the vector, so the result is that of one search to the bit.

    >>> one = np.array([[4, -1]], np.int32), np.array([[0.5, np.nan]], np.float32)
    >>> other = np.array([[2, 0]], np.int32), np.array([[0.9, 0.5]], np.float32)
    >>> merged(one, other, start=10)[0].tolist()
    [[12, 4]]
    """
    ids = np.concatenate([best[0], np.where(found[0] < 0, -1, found[0] + np.int32(start))], axis=1)
    scores = np.concatenate([best[1], found[1]], axis=1)
    # nan sorts behind everything.
    order = np.argsort(-scores, axis=1, kind="stable")[:, : best[0].shape[1]]
    return np.take_along_axis(ids, order, axis=1), np.take_along_axis(scores, order, axis=1)
