"""What the record says of an arm, and of one arm against another."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fastrecall.measure.bootstrap import bootstrap_mean
from fastrecall.measure.intervals import newcombe_paired, wilson
from fastrecall.measure.paired import PairedHits, mcnemar
from fastrecall.search.arms import CURVE_DEPTH, Arm
from fastrecall.types import Rankings

SAMPLES = 2000
"""Bootstrap samples of an interval: the bounds then move by less than what they print."""

Ranks = npt.NDArray[np.int64]
"""Rank from 1 of each pair's target in an arm's ranking; 0 where it did not come."""


def ranks_of(rankings: Rankings, rows: npt.NDArray[np.int32], targets: Any) -> Ranks:
    """The rank of each pair's target in the ranking of its question.

    >>> rankings = Rankings(np.array([[5, 3, -1]], dtype=np.int32))
    >>> ranks_of(rankings, np.array([0, 0]), np.array([3, 9])).tolist()
    [2, 0]
    """
    came = rankings.ids[rows] == np.asarray(targets)[:, None]
    return np.where(came.any(axis=1), came.argmax(axis=1) + 1, 0)


def hits_within(arm: Arm, ranks: Ranks, budget: int) -> Ranks:
    """The ranks that count: up to the budget, or all that an uncut walk returned."""
    return np.where(ranks <= budget, ranks, 0) if arm.cut else ranks


def arm_block(
    arm: Arm, ranks: Ranks, rankings: Rankings, *, budget: int, clusters: Any, seed: int
) -> dict[str, Any]:
    """The numbers of one arm under one protocol; pairs of one question are one cluster."""
    inside = hits_within(arm, ranks, budget)
    pairs, hits = len(inside), int(np.count_nonzero(inside))
    reciprocal = np.divide(1.0, inside, out=np.zeros(pairs), where=inside > 0)
    returned = (rankings.ids >= 0).sum(axis=1)
    block: dict[str, Any] = {
        "title": arm.title,
        "hits": hits,
        "pairs": pairs,
        "rate": hits / pairs,
        "wilson95": list(wilson(hits, pairs)),
        "mrr": float(reciprocal.mean()),
        "mrr_ci95": list(bootstrap_mean(reciprocal, clusters, samples=SAMPLES, seed=seed)),
        "median_rank": _median_rank(inside),
        "mean_output": float(np.minimum(returned, budget if arm.cut else returned).mean()),
    }
    if arm.cut:
        block["hits_at"] = [int(n) for n in _curve(ranks)]
    return block


def _median_rank(inside: Ranks) -> int | None:
    """The rank that half of the pairs reach or beat; None when more than half are missed."""
    if 2 * np.count_nonzero(inside) < len(inside):
        return None
    ordered = np.sort(np.where(inside > 0, inside, np.iinfo(np.int64).max))
    return int(ordered[(len(ordered) - 1) // 2])


def _curve(ranks: Ranks) -> npt.NDArray[np.int64]:
    """Hits at budget 1 … CURVE_DEPTH."""
    within = ranks[(ranks > 0) & (ranks <= CURVE_DEPTH)]
    return np.cumsum(np.bincount(within, minlength=CURVE_DEPTH + 1)[1:])


def gain_block(better: Arm, base: Arm, won: Ranks, against: Ranks) -> dict[str, Any]:
    """The paired difference of two arms' hits: its interval and exact McNemar p."""
    counts = PairedHits.of(won > 0, against > 0)
    return {
        "title": f"{better.title} over {base.title}",
        "difference": (counts.first - counts.second) / len(won),
        "ci95": list(newcombe_paired(*counts)),
        "won": counts.first,
        "lost": counts.second,
        "mcnemar_p": mcnemar(counts.first, counts.second),
    }
