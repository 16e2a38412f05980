"""What counts as an answer, and at which rank a ranking returned it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from fastrecall.errors import InputError
from fastrecall.types import Ids

_INT32 = np.iinfo(np.int32)

_COMPARED_AT_ONCE = 1 << 22
"""Ranking places compared in one step; bounds the memory, not the result."""


@dataclass(frozen=True)
class Judgments:
    """The gold items of each query as compressed rows, best grade first.

    Query ``q`` owns ``ids[offsets[q]:offsets[q + 1]]`` and their ``grades``; within a query the
    order is (grade descending, id ascending), so that a prefix is the ideal ranking. Only grades
    above 0 are kept: no metric here tells a judged but irrelevant item from an unjudged one. A
    query may have no gold item at all; it stays, and scores 0.

    Make one with `from_pairs` or `from_dicts`.
    """

    offsets: npt.NDArray[np.int64]
    ids: Ids
    grades: npt.NDArray[np.int32]

    @classmethod
    def from_pairs(
        cls,
        queries: npt.ArrayLike,
        targets: npt.ArrayLike,
        grades: npt.ArrayLike | None = None,
        *,
        count: int,
    ) -> Judgments:
        """Judgments from three parallel vectors, in any order.

        Args:
            queries: query number of each pair, in [0, count).
            targets: id of the gold item, 0 or more.
            grades: how relevant it is; 1 by default, 0 and below mean "not".
            count: number of queries, including those without a pair.

        Raises:
            InputError: vectors that do not fit, a number out of range, a pair given twice.

        >>> Judgments.from_pairs([0, 0, 2], [7, 5, 9], count=3).ids
        array([5, 7, 9], dtype=int32)
        """
        rows = np.asarray(queries, dtype=np.int64).reshape(-1)
        ids = np.asarray(targets, dtype=np.int64).reshape(-1)
        gains = np.ones_like(ids) if grades is None else np.asarray(grades, np.int64).reshape(-1)
        if not len(rows) == len(ids) == len(gains):
            raise InputError(
                f"got {len(rows)} queries, {len(ids)} targets and {len(gains)} grades; "
                "expected the same number of each"
            )
        if len(rows) and not (rows.min() >= 0 and rows.max() < count):
            raise InputError(
                f"query numbers reach {rows.min()}..{rows.max()}; expected 0..{count - 1}"
            )
        for what, numbers, lowest in (("target ids", ids, 0), ("grades", gains, _INT32.min)):
            if len(numbers) and not (numbers.min() >= lowest and numbers.max() <= _INT32.max):
                raise InputError(
                    f"{what} reach {numbers.min()}..{numbers.max()}; "
                    f"expected {lowest}..{_INT32.max}"
                )
        by_pair = np.lexsort((ids, rows))
        again = (np.diff(rows[by_pair]) == 0) & (np.diff(ids[by_pair]) == 0)
        if again.any():
            at = by_pair[np.argmax(again)]
            raise InputError(
                f"query {rows[at]} has the target {ids[at]} twice; give each pair once"
            )
        keep = np.flatnonzero(gains > 0)
        order = keep[np.lexsort((ids[keep], -gains[keep], rows[keep]))]
        offsets = np.zeros(count + 1, np.int64)
        np.cumsum(np.bincount(rows[keep], minlength=count), out=offsets[1:])
        return cls(offsets, ids[order].astype(np.int32), gains[order].astype(np.int32))

    @classmethod
    def from_dicts(cls, gold: Sequence[Mapping[int, int]]) -> Judgments:
        """Judgments from one ``{id: grade}`` a query.

        Raises:
            InputError: an id below 0.

        >>> len(Judgments.from_dicts([{3: 1}, {}, {4: 2, 5: 1}]))
        3
        """
        rows = np.repeat(np.arange(len(gold)), [len(items) for items in gold])
        targets = [target for items in gold for target in items]
        grades = [grade for items in gold for grade in items.values()]
        return cls.from_pairs(rows, targets, grades, count=len(gold))

    def __len__(self) -> int:
        """The number of queries."""
        return len(self.offsets) - 1

    @cached_property
    def counts(self) -> npt.NDArray[np.int64]:
        """Gold items of each query, ``[queries]``."""
        return np.diff(self.offsets)

    @cached_property
    def queries(self) -> npt.NDArray[np.int64]:
        """The query of each gold item, ``[items]``."""
        return np.repeat(np.arange(len(self)), self.counts)


@dataclass(frozen=True)
class Found:
    """Where a ranking returned each gold item: ranks from 1, and 0 for "not returned".

    Every metric is computed from this, so that one look at the rankings serves all of them.
    """

    judgments: Judgments
    ranks: npt.NDArray[np.int64]

    def within(self, cutoff: int | None) -> npt.NDArray[np.bool_]:
        """Which gold items stand in the first *cutoff* places (anywhere, for ``None``)."""
        returned = self.ranks > 0
        return returned if cutoff is None else returned & (self.ranks <= cutoff)

    def per_query(self, amounts: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Add up one amount a gold item to one sum a query; 0 for a query without any."""
        weights = np.asarray(amounts, np.float64)
        sums = np.bincount(self.judgments.queries, weights, minlength=len(self.judgments))
        return sums.astype(np.float64, copy=False)


def locate(rankings: npt.ArrayLike, judgments: Judgments) -> Found:
    """Find the rank of each gold item.

    An id that a ranking repeats counts at its first place only, so no gold item is credited twice;
    the repetition still takes up its place. So does a -1 before the end of a ranking.

    Args:
        rankings: int ids, best first, ``[queries, width]``, -1 past the end of a ranking.
        judgments: gold of the same queries.

    Raises:
        InputError: not two-dimensional, not integers, or another number of queries.

    >>> locate([[4, 9, 4], [7, -1, -1]], Judgments.from_dicts([{4: 1}, {8: 1}])).ranks
    array([1, 0])
    """
    ids = np.asarray(rankings)
    if ids.ndim != 2 or not (ids.size == 0 or np.issubdtype(ids.dtype, np.integer)):
        raise InputError(
            f"rankings are {ids.dtype} of shape {ids.shape}; expected integer ids [queries, width]"
        )
    if len(ids) != len(judgments):
        raise InputError(f"there are {len(ids)} rankings for {len(judgments)} judged queries")
    ranks = np.zeros(len(judgments.ids), np.int64)
    width = ids.shape[1]
    step = max(1, _COMPARED_AT_ONCE // max(1, width))
    for start in range(0, len(ranks) if width else 0, step):
        part = slice(start, start + step)
        same = ids[judgments.queries[part]] == judgments.ids[part, None]
        first = same.argmax(axis=1)
        ranks[part] = np.where(same[np.arange(len(first)), first], first + 1, 0)
    return Found(judgments, ranks)
