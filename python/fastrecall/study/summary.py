"""What the record says of an arm, and of one arm against another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from fastrecall.measure.intervals import minimum_detectable_effect, newcombe_paired, wilson
from fastrecall.measure.paired import PairedHits, holm, mcnemar, permutation
from fastrecall.search.arms import ARMS, CURVE_DEPTH, REASONING, Arm
from fastrecall.study.answers import Answers, Ranks
from fastrecall.study.protocols import Asked
from fastrecall.study.settings import Settings

SAMPLES = 2000
"""Samples of a bootstrap, and of a permutation test. With another seed a bound moves by about a
twentieth of its distance from the mean, which two decimals hardly show."""

Floats: TypeAlias = npt.NDArray[np.float64]

Mean: TypeAlias = str | tuple[str, str]
"""What a mean is taken of: an arm's values, or those of one arm less another's."""

Bounds: TypeAlias = list[float | None]
"""An interval as JSON holds it."""


class Intervals(NamedTuple):
    """Bootstrap intervals of one protocol's means: over questions, and over pairs."""

    mrr: Mapping[Mean, Bounds]
    rate: Mapping[Mean, Bounds]
    """Empty where every issue has one pair."""


COMPARED = (("causal", "semantic"), ("causal", "semantic_prs"), (REASONING, "hybrid"))
"""The differences of means that are told: which arm, over which."""


def hits_within(arm: Arm, ranks: Ranks, budget: int) -> Ranks:
    """The ranks that count: up to the budget, or all that an uncut walk returned."""
    return np.where(ranks <= budget, ranks, 0) if arm.cut else ranks


def hits_of(answers: Mapping[str, Answers], budget: int) -> dict[str, npt.NDArray[np.bool_]]:
    """Whether each arm found each pair, ``[pairs]`` an arm."""
    return {arm: hits_within(ARMS[arm], of.ranks, budget) > 0 for arm, of in answers.items()}


def arm_blocks(
    asked: Asked, answers: Mapping[str, Answers], *, budget: int, intervals: Intervals
) -> dict[str, dict[str, Any]]:
    """The numbers of each arm under one protocol; *intervals* are those of its means.

    ``rate_ci95``, which takes all pairs of an issue together, stands where some issue has several.
    """
    blocks = {}
    for key, of_arm in answers.items():
        arm = ARMS[key]
        inside = hits_within(arm, of_arm.ranks, budget)
        blocks[key] = {
            **_hit_block(arm, inside),
            **({"rate_ci95": intervals.rate[key]} if intervals.rate else {}),
            "mrr": float(reciprocal(inside, asked).mean()),
            "mrr_ci95": intervals.mrr[key],
            **_output_block(arm, inside, of_arm, budget),
        }
    return blocks


def reciprocal(inside: Ranks, asked: Asked) -> Floats:
    """1/rank of each question's first answer ``[questions]``, 0 where none came."""
    of_pairs = np.divide(1.0, inside, out=np.zeros(len(inside)), where=inside > 0)
    best = np.zeros(len(asked.texts))
    np.maximum.at(best, asked.rows, of_pairs)
    return best


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
        block["hits_at"] = _curve(answers.ranks, max(CURVE_DEPTH, budget))
    return block


def _median_rank(inside: Ranks) -> int | None:
    """The rank that half of the pairs reach or beat; None when more than half are missed."""
    if 2 * np.count_nonzero(inside) < len(inside):
        return None
    ordered = np.sort(np.where(inside > 0, inside, np.iinfo(np.int64).max))
    return int(ordered[(len(ordered) - 1) // 2])


def _curve(ranks: Ranks, deepest: int) -> list[int]:
    """Hits at budget 1 … *deepest*."""
    within = ranks[(ranks > 0) & (ranks <= deepest)]
    curve: list[int] = np.cumsum(np.bincount(within, minlength=deepest + 1)[1:]).tolist()
    return curve


def gain_blocks(
    asked: Mapping[str, Asked],
    found: Mapping[str, Mapping[str, Answers]],
    intervals: Mapping[str, Intervals],
    settings: Settings,
) -> dict[str, Any]:
    """What following links brings under each protocol: causal over semantic, and over PRs only.

    Where a language model took part, ``reasoning`` says what it brings to the hybrid list.
    *intervals* are those of means, by protocol. Holm's correction is over all these differences.
    Protocols without both arms are left out.
    """
    gains: dict[str, Any] = {}
    for protocol, answers in found.items():
        over = {
            base: _gain(better, base, answers, asked[protocol], intervals[protocol], settings)
            for better, base in COMPARED
            if {better, base} <= answers.keys()
        }
        if "semantic" in over:
            gains[protocol] = {**over["semantic"], "over_prs": over.get("semantic_prs")}
            if "hybrid" in over:
                gains[protocol]["reasoning"] = over["hybrid"]
    tested = [
        one
        for gain in gains.values()
        for one in (gain, gain["over_prs"], gain.get("reasoning"))
        if one is not None
    ]
    for one, adjusted in zip(tested, holm([one["mcnemar_p"] for one in tested]), strict=True):
        one["holm_p"] = float(adjusted)
    return gains


def _gain(
    better: str,
    base: str,
    answers: Mapping[str, Answers],
    asked: Asked,
    intervals: Intervals,
    settings: Settings,
) -> dict[str, Any]:
    """The paired difference of two arms: hits with exact McNemar, MRR with a permutation test.

    ``detectable`` is the smallest true difference of hits that this many pairs, disagreeing as
    often as these do, would reveal with 80 % power; null where that cannot be said.
    """
    won, against = (
        hits_within(ARMS[arm], answers[arm].ranks, settings.budget) for arm in (better, base)
    )
    counts = PairedHits.of(won > 0, against > 0)
    mine, other = reciprocal(won, asked), reciprocal(against, asked)
    return {
        "title": f"{ARMS[better].title} over {ARMS[base].title}",
        "difference": (counts.first - counts.second) / len(won),
        "ci95": list(newcombe_paired(*counts)),
        **_by_issue(won > 0, against > 0, asked, intervals.rate.get((better, base)), settings),
        "won": counts.first,
        "lost": counts.second,
        "mcnemar_p": mcnemar(counts.first, counts.second),
        "detectable": _detectable(counts),
        "mrr_difference": float(mine.mean() - other.mean()),
        "mrr_ci95": intervals.mrr[better, base],
        "mrr_p": permutation(mine, other, asked.clusters, samples=SAMPLES, seed=settings.seed),
    }


def _by_issue(
    won: npt.NDArray[np.bool_],
    against: npt.NDArray[np.bool_],
    asked: Asked,
    bounds: Bounds | None,
    settings: Settings,
) -> dict[str, Any]:
    """The difference once more, all pairs of an issue taken together; *bounds* are its interval."""
    if bounds is None:
        return {}
    clusters = asked.clusters[asked.rows]
    p = permutation(won, against, clusters, samples=SAMPLES, seed=settings.seed)
    return {"difference_ci95": bounds, "difference_p": p}


def _detectable(counts: PairedHits) -> float | None:
    pairs = sum(counts)
    discordant = (counts.first + counts.second) / pairs
    if not discordant:
        return None
    effect = minimum_detectable_effect(pairs, discordant=discordant)
    return None if math.isnan(effect) else effect


def json_bounds(interval: Sequence[float]) -> Bounds:
    """An interval as JSON holds it: one cluster alone has none."""
    return [None if math.isnan(bound) else bound for bound in interval]
