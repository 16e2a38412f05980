"""From scores to a number with its interval: shares by Wilson, means by bootstrap."""

from __future__ import annotations

import math
from typing import NamedTuple

from fastrecall.measure.bootstrap import bootstrap_mean
from fastrecall.measure.intervals import wilson
from fastrecall.measure.judgments import Found
from fastrecall.measure.metrics import Metric


class Estimate(NamedTuple):
    """A mean with its 95 % interval.

    ``n`` counts the scores, ``queries`` the independent ones among them (the clusters), ``hits``
    the ones of a share and is ``None`` for graded scores. Without any score the mean is nan.
    """

    mean: float
    low: float
    high: float
    n: int
    queries: int
    hits: int | None

    def as_dict(self) -> dict[str, float | int | None]:
        """Plain values, as JSON holds them: None where nothing is known.

        >>> Estimate(1.0, math.nan, math.nan, 1, 1, None).as_dict()["low"] is None
        True
        """
        return {
            name: None if isinstance(value, float) and math.isnan(value) else value
            for name, value in self._asdict().items()
        }


def estimate(metric: Metric, found: Found, *, samples: int = 10_000, seed: int = 0) -> Estimate:
    """The mean of *metric* with the interval that suits it.

    Shares get the Wilson interval, graded scores the bootstrap over queries.

    Args:
        metric: what to compute.
        found: from `locate`.
        samples: bootstrap samples.
        seed: seed of the bootstrap.

    >>> from fastrecall.measure.judgments import Judgments, locate
    >>> found = locate([[4, 9], [7, 8]], Judgments.from_dicts([{4: 1}, {5: 1}]))
    >>> estimate(Metric("hit", 1), found)
    Estimate(mean=0.5, low=0.09..., high=0.90..., n=2, queries=2, hits=1)
    """
    scores = metric.score(found)
    n = len(scores)
    queries = len(set(metric.clusters(found.judgments).tolist()))
    if metric.family.share:
        hits = int(scores.sum())
        return Estimate(hits / n if n else math.nan, *wilson(hits, n), n, queries, hits)
    low, high = bootstrap_mean(scores, samples=samples, seed=seed)
    return Estimate(float(scores.mean()) if n else math.nan, low, high, n, queries, None)
