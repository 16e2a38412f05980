"""Reciprocal rank fusion: several rankings become one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from fastrecall import _core
from fastrecall._threads import resolve_threads
from fastrecall.errors import InputError
from fastrecall.types import Ids, Scores

Ranking: TypeAlias = npt.NDArray[np.integer] | Sequence[int]
"""Ids best first: ``[q, width]`` with -1 past the end, or one query as a plain sequence."""

_Table: TypeAlias = npt.NDArray[np.integer]


def rrf(
    rankings: Sequence[Ranking],
    *,
    k: float = 60,
    weights: Sequence[float] | None = None,
    threads: int | None = None,
) -> tuple[Ids, Scores]:
    """Fuse rankings by weighted reciprocal rank: the score of an id is Σ weight / (k + rank).

    Ranks count from 1; a list that does not hold an id adds 0, and an id that stands twice in a
    list counts where it stands first. Ties: higher score first, then lower id; ids that swap their
    ranks between lists of equal weight tie exactly. The scores order one fusion and say nothing
    about relevance, so never compare them with a threshold.

    Args:
        rankings: One entry per list, best first: arrays ``[q, width]`` of ids ≥ 0 with -1 past the
            end (widths may differ), or flat sequences of ids, of any lengths, for a single query.
        k: How little the first places stand out, ≥ 0.
        weights: One finite weight ≥ 0 per list, 1 each by default. At 0 the ids of a list still
            appear, behind those of the others.
        threads: Threads to use; all usable cores when ``None``.

    Returns:
        ids int32 and scores float32 of every id that some list holds: ``[q, width]``, as wide as
        the longest fused list, -1 and nan past its end; one-dimensional when the lists are flat.

    Raises:
        InputError: no list, shapes that do not fit, or a bad *k* or weight.

    Source: Cormack, Clarke, Buettcher, SIGIR 2009, 10.1145/1571941.1572114.

    >>> ids, scores = rrf([[7, 3, 5], [3, 9]])
    >>> ids.tolist()
    [3, 7, 9, 5]
    >>> bool(scores[0] == np.float32(1 / 62 + 1 / 61))
    True
    >>> rrf([[7, 3, 5], [3, 9]], weights=[1, 0])[0].tolist()
    [7, 3, 5, 9]
    """
    lists, flat = _as_tables(rankings)
    if not (math.isfinite(k) and k >= 0):
        raise InputError(f"rrf: k is {k}; expected a finite number, 0 or more")
    if weights is None:
        weights = [1.0] * len(lists)
    if len(weights) != len(lists):
        raise InputError(f"rrf: {len(weights)} weights for {len(lists)} rankings; give one each")
    if not all(math.isfinite(weight) and weight >= 0 for weight in weights):
        raise InputError(f"rrf: weights are {list(weights)}; expected finite numbers, 0 or more")

    ids, scores, longest = _core.fuse(
        lists, [float(weight) for weight in weights], k=k, threads=resolve_threads(threads)
    )
    ids, scores = ids[:, :longest], scores[:, :longest]
    return (ids[0], scores[0]) if flat else (ids, scores)


def _as_tables(rankings: Sequence[Ranking]) -> tuple[list[_Table], bool]:
    """The lists as ``[q, width]`` arrays, and whether they came flat."""
    tables = [np.asarray(ranking) for ranking in rankings]
    if not tables:
        raise InputError("rrf: no ranking given; expected at least one")
    for place, table in enumerate(tables):
        if table.ndim != tables[0].ndim or table.ndim not in (1, 2):
            raise InputError(
                f"rrf: ranking {place} has shape {table.shape}, the first has {tables[0].shape}; "
                "expected all [queries, width], or all flat"
            )
        if table.size and table.dtype.kind not in "iu":
            raise InputError(f"rrf: ranking {place} holds {table.dtype}; expected integer ids")
        if table.ndim == 2 and len(table) != len(tables[0]):
            raise InputError(
                f"rrf: ranking {place} has {len(table)} queries, the first has {len(tables[0])}"
            )
    flat = tables[0].ndim == 1
    whole = [table if table.size else table.astype(np.int32) for table in tables]
    return [np.atleast_2d(table) for table in whole], flat
