"""Lists of different lengths, one a query, as offsets and flat ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fastrecall.errors import InputError
from fastrecall.types import Ids

IdLists: TypeAlias = npt.ArrayLike | Sequence[npt.ArrayLike]
"""One list of ids a query: one id each [queries], rows padded with -1 [queries, places], or a
sequence of lists."""


def flatten_lists(lists: IdLists, *, queries: int, name: str) -> tuple[npt.NDArray[np.int64], Ids]:
    """Offsets [queries + 1] and the ids themselves; -1 is padding and dropped.

    Raises:
        InputError: not one list a query, or ids that are no whole numbers or below -1.

    >>> offsets, ids = flatten_lists([[4], [], [7, 8]], queries=3, name="exclude")
    >>> offsets.tolist(), ids.tolist()
    ([0, 1, 1, 3], [4, 7, 8])
    >>> flatten_lists(np.array([5, -1]), queries=2, name="exclude")[0].tolist()
    [0, 1, 1]
    """
    if isinstance(lists, np.ndarray):
        return _flatten_table(lists, queries, name)
    try:
        rows = [np.atleast_1d(np.asarray(row)) for row in lists]  # type: ignore[union-attr]
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} is {lists!r}; expected one list of ids a query") from error
    _check_count(len(rows), queries, name)
    kept = [_without_padding(row, f"{name}[{query}]") for query, row in enumerate(rows)]
    offsets = np.zeros(queries + 1, np.int64)
    np.cumsum([len(row) for row in kept], out=offsets[1:])
    return offsets, np.concatenate([*kept, np.empty(0, np.int32)])


def _flatten_table(
    table: npt.NDArray[Any], queries: int, name: str
) -> tuple[npt.NDArray[np.int64], Ids]:
    """`flatten_lists` of an array, without looking at each row."""
    if table.ndim not in (1, 2):
        raise InputError(
            f"{name} has {table.ndim} dimensions; expected [queries] or [queries, places]"
        )
    _check_count(len(table), queries, name)
    ids = _without_padding(table.ravel(), name)
    offsets = np.zeros(queries + 1, np.int64)
    if table.size:
        np.cumsum((table.reshape(queries, -1) >= 0).sum(axis=1), out=offsets[1:])
    return offsets, ids


def _check_count(lists: int, queries: int, name: str) -> None:
    if lists != queries:
        raise InputError(f"{name} has {lists} lists; expected one for each of {queries} queries")


def _without_padding(row: npt.NDArray[Any], name: str) -> Ids:
    if row.size == 0:
        return np.empty(0, np.int32)
    if row.ndim != 1 or row.dtype.kind not in "iu":
        raise InputError(f"{name} is {row.dtype} {row.shape}; expected whole numbers [places]")
    highest = np.iinfo(np.int32).max
    if row.min() < -1 or row.max() > highest:
        raise InputError(f"{name} has ids outside of 0 to {highest}; only -1 marks an empty place")
    return row[row >= 0].astype(np.int32)
