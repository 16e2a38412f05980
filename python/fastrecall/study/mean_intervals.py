"""Intervals of the evaluation's means; found together, for drawing samples is most of the work."""

from __future__ import annotations

from collections.abc import Mapping

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
    Mean,
    hits_within,
    json_bounds,
    reciprocal,
)


def mean_intervals(
    asked: Mapping[str, Asked],
    found: Mapping[str, Mapping[str, Answers]],
    settings: Settings,
    *,
    threads: int,
) -> dict[str, dict[Mean, Bounds]]:
    """For each protocol, the interval of every arm's MRR and of the differences in `COMPARED`.

    The pairs of one question are one cluster.
    """
    means = {protocol: _means(answers, settings.budget) for protocol, answers in found.items()}
    intervals: dict[str, dict[Mean, Bounds]] = {}
    for protocol in means:
        alike = [p for p in means if np.array_equal(asked[p].rows, asked[protocol].rows)]
        if protocol != alike[0]:
            continue
        bounds = iter(
            bootstrap_means(
                [values for p in alike for values in means[p].values()],
                asked[protocol].rows,
                samples=SAMPLES,
                seed=settings.seed,
                threads=threads,
            )
        )
        for p in alike:
            intervals[p] = {mean: json_bounds(next(bounds)) for mean in means[p]}
    return intervals


def _means(answers: Mapping[str, Answers], budget: int) -> dict[Mean, npt.NDArray[np.float64]]:
    """The values of each pair that a mean is taken of."""
    means: dict[Mean, npt.NDArray[np.float64]] = {
        arm: reciprocal(hits_within(ARMS[arm], of.ranks, budget)) for arm, of in answers.items()
    }
    for better, base in COMPARED:
        if {better, base} <= answers.keys():
            means[better, base] = means[better] - means[base]
    return means
