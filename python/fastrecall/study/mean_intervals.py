"""Intervals of the evaluation's means; found together, for drawing samples is most of the work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from fastrecall.measure.bootstrap import bootstrap_means
from fastrecall.search.arms import ARMS
from fastrecall.study.answers import Answers
from fastrecall.study.protocols import Asked
from fastrecall.study.settings import Settings
from fastrecall.study.summary import (
    COMPARED,
    SAMPLES,
    Bounds,
    Floats,
    Intervals,
    Mean,
    hits_within,
    json_bounds,
    reciprocal,
)

Clustered: TypeAlias = tuple[npt.NDArray[np.int32], dict[Mean, Floats]]
"""The cluster of each value, and the values of each mean."""


def mean_intervals(
    asked: Mapping[str, Asked],
    found: Mapping[str, Mapping[str, Answers]],
    settings: Settings,
    *,
    threads: int,
) -> dict[str, Intervals]:
    """For each protocol, the intervals of every arm's means and of the differences in `COMPARED`.

    All that one issue asks is one cluster. Shares of pairs have such an interval only where some
    issue has several pairs: else Wilson's and Newcombe's are better.
    """
    of_questions: dict[str, Clustered] = {}
    of_pairs: dict[str, Clustered] = {}
    for p, one in asked.items():
        inside = {
            arm: hits_within(ARMS[arm], of.ranks, settings.budget) for arm, of in found[p].items()
        }
        ranks = {arm: reciprocal(of_arm, one) for arm, of_arm in inside.items()}
        of_questions[p] = one.clusters, _with_differences(ranks)
        if one.issues < len(one.pairs):
            hits = {arm: (of_arm > 0).astype(np.float64) for arm, of_arm in inside.items()}
            of_pairs[p] = one.clusters[one.rows], _with_differences(hits)
    mrr, rate = (_drawn(means, settings.seed, threads) for means in (of_questions, of_pairs))
    return {p: Intervals(mrr[p], rate.get(p, {})) for p in found}


def _with_differences(of_arms: dict[str, Floats]) -> dict[Mean, Floats]:
    """The values that each mean is taken of."""
    means = dict[Mean, Floats](of_arms.items())
    for better, base in COMPARED:
        if {better, base} <= of_arms.keys():
            means[better, base] = of_arms[better] - of_arms[base]
    return means


def _drawn(
    means: Mapping[str, Clustered], seed: int, threads: int
) -> dict[str, dict[Mean, Bounds]]:
    """The interval of each mean; protocols with the same clusters share what is drawn."""
    intervals: dict[str, dict[Mean, Bounds]] = {}
    for protocol, (clusters, _) in means.items():
        if protocol in intervals:
            continue
        alike = [p for p in means if np.array_equal(means[p][0], clusters)]
        bounds = iter(
            bootstrap_means(
                [values for p in alike for values in means[p][1].values()],
                clusters,
                samples=SAMPLES,
                seed=seed,
                threads=threads,
            )
        )
        for p in alike:
            intervals[p] = {mean: json_bounds(next(bounds)) for mean in means[p][1]}
    return intervals
