"""What the record says of an arm, and of one arm against another."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from fastrecall.measure.bootstrap import bootstrap_means
from fastrecall.measure.intervals import newcombe_paired, wilson
from fastrecall.measure.paired import PairedHits, mcnemar
from fastrecall.search.arms import ARMS, CURVE_DEPTH, Arm
from fastrecall.study.answers import Answers, Ranks

SAMPLES = 2000
"""Bootstrap samples of an interval: the bounds then move by less than what they print."""


def hits_within(arm: Arm, ranks: Ranks, budget: int) -> Ranks:
    """The ranks that count: up to the budget, or all that an uncut walk returned."""
    return np.where(ranks <= budget, ranks, 0) if arm.cut else ranks


def hits_of(answers: Mapping[str, Answers], budget: int) -> dict[str, npt.NDArray[np.bool_]]:
    """Whether each arm found each pair, ``[pairs]`` an arm."""
    return {arm: hits_within(ARMS[arm], of.ranks, budget) > 0 for arm, of in answers.items()}


def arm_blocks(
    answers: dict[str, Answers], *, budget: int, clusters: npt.NDArray[np.integer], seed: int
) -> dict[str, dict[str, Any]]:
    """The numbers of each arm under one protocol; pairs of one question are one cluster."""
    inside = {arm: hits_within(ARMS[arm], of.ranks, budget) for arm, of in answers.items()}
    reciprocal = {arm: _reciprocal(ranks) for arm, ranks in inside.items()}
    intervals = bootstrap_means(list(reciprocal.values()), clusters, samples=SAMPLES, seed=seed)
    return {
        arm: {
            **_hit_block(ARMS[arm], inside[arm]),
            "mrr": float(reciprocal[arm].mean()),
            "mrr_ci95": [None if math.isnan(bound) else bound for bound in interval],
            **_output_block(ARMS[arm], inside[arm], answers[arm], budget),
        }
        for arm, interval in zip(answers, intervals, strict=True)
    }


def _reciprocal(inside: Ranks) -> npt.NDArray[np.float64]:
    return np.divide(1.0, inside, out=np.zeros(len(inside)), where=inside > 0)


def _hit_block(arm: Arm, inside: Ranks) -> dict[str, Any]:
    pairs, hits = len(inside), int(np.count_nonzero(inside))
    return {
        "title": arm.title,
        "hits": hits,
        "pairs": pairs,
        "rate": hits / pairs,
        "wilson95": list(wilson(hits, pairs)),
    }


def _output_block(arm: Arm, inside: Ranks, answers: Answers, budget: int) -> dict[str, Any]:
    sizes = np.minimum(answers.sizes, budget) if arm.cut else answers.sizes
    block: dict[str, Any] = {
        "median_rank": _median_rank(inside),
        "mean_output": float(sizes.mean()),
    }
    if arm.cut:
        block["hits_at"] = [int(n) for n in _curve(answers.ranks)]
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


def gain_block(better: str, base: str, answers: dict[str, Answers], budget: int) -> dict[str, Any]:
    """The paired difference of two arms' hits: its interval and exact McNemar p."""
    won, against = (hits_within(ARMS[arm], answers[arm].ranks, budget) for arm in (better, base))
    counts = PairedHits.of(won > 0, against > 0)
    return {
        "title": f"{ARMS[better].title} over {ARMS[base].title}",
        "difference": (counts.first - counts.second) / len(won),
        "ci95": list(newcombe_paired(*counts)),
        "won": counts.first,
        "lost": counts.second,
        "mcnemar_p": mcnemar(counts.first, counts.second),
    }
