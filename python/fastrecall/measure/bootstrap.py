"""Intervals for means: a seeded bootstrap that draws whole clusters of values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from fastrecall.errors import InputError
from fastrecall.measure._clusters import (
    Floats,
    cluster_members,
    finite_values,
    member_sums,
    paired_differences,
)

_DRAWS_AT_ONCE = 1 << 20
"""Random draws held in memory at a time; the stream of numbers does not depend on it."""


def bootstrap_mean(
    values: npt.ArrayLike,
    clusters: npt.ArrayLike | None = None,
    *,
    samples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> tuple[float, float]:
    """Interval of the mean of *values*, from a bootstrap over clusters.

    Values that depend on each other (the pairs of one query) form a cluster and are drawn
    together; the bounds are bias-corrected and accelerated (BCa). Fewer than two clusters say
    nothing about variation: the interval is then ``(nan, nan)``. When all clusters have the same
    mean it is that single point: for shares near 0 or 1 `wilson` is the better witness.

    Args:
        values: one number a query or pair, ``[n]``.
        clusters: the cluster label of each value, ``[n]``; by default each value stands alone.
        samples: bootstrap samples.
        seed: seed of the random draws; the same seed gives the same interval.
        level: coverage of the interval.

    Returns:
        Lower and upper bound.

    Raises:
        InputError: shapes that do not fit, values that are not finite, odd settings.

    Source: Efron 1987, J. Am. Stat. Assoc. 82:171-185; whole clusters as units: Davison and
    Hinkley 1997, Bootstrap Methods and their Application, section 3.8.

    >>> low, high = bootstrap_mean([0.0, 1.0, 1.0, 0.5] * 25, seed=1)
    >>> f"{low:.2f} {high:.2f}"
    '0.54 0.70'
    """
    return bootstrap_means([values], clusters, samples=samples, seed=seed, level=level)[0]


def bootstrap_means(
    columns: Sequence[npt.ArrayLike],
    clusters: npt.ArrayLike | None = None,
    *,
    samples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
    threads: int = 1,
) -> list[tuple[float, float]]:
    """`bootstrap_mean` of several arms on the same queries; clusters are drawn once for all.

    Each interval is the one that `bootstrap_mean` gives, on any number of *threads*.

    Raises:
        InputError: as `bootstrap_mean`, or arms of different length.

    >>> first, second = [1.0, 0.5, 0.0] * 9, [0.5, 0.25, 0.0] * 9
    >>> both = bootstrap_means([first, second])
    >>> both == [bootstrap_mean(first), bootstrap_mean(second)]
    True
    """
    if samples < 1:
        raise InputError(f"samples is {samples}; expected 1 or more")
    if not 0 < level < 1:
        raise InputError(f"level is {level}; expected a share between 0 and 1, such as 0.95")
    vectors = [finite_values(values, "values") for values in columns]
    if len({len(vector) for vector in vectors}) > 1:
        raise InputError(
            f"the arms have {' and '.join(str(len(vector)) for vector in vectors)} values; "
            "expected one value a query from each"
        )
    if not vectors:
        return []
    members = cluster_members(clusters, len(vectors[0]))
    sizes = member_sums(np.ones_like(vectors[0]), members)
    distinct = {vector.tobytes(): member_sums(vector, members) for vector in vectors}
    intervals = {key: _without_drawing(sums, sizes) for key, sums in distinct.items()}
    drawn = {key: distinct[key] for key, interval in intervals.items() if interval is None}
    replicates = _resample(list(drawn.values()), sizes, samples, seed, threads)
    for (key, sums), of_column in zip(drawn.items(), replicates, strict=True):
        low, high = np.quantile(of_column, _bca_tails(of_column, sums, sizes, level))
        intervals[key] = float(low), float(high)
    return [intervals[vector.tobytes()] or (math.nan, math.nan) for vector in vectors]


def bootstrap_difference(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    clusters: npt.ArrayLike | None = None,
    *,
    samples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> tuple[float, float]:
    """Interval of the mean of ``first - second``, two arms on the same queries.

    The difference of each query is one value (paired); the rest as in `bootstrap_mean`.

    Raises:
        InputError: as `bootstrap_mean`, or two arms of different length.

    >>> low, high = bootstrap_difference([1.0, 0.5, 1.0] * 20, [0.5, 0.5, 0.25] * 20)
    >>> f"{low:.2f} {high:.2f}"
    '0.33 0.50'
    """
    differences = paired_differences(first, second)
    return bootstrap_mean(differences, clusters, samples=samples, seed=seed, level=level)


def _without_drawing(sums: Floats, sizes: Floats) -> tuple[float, float] | None:
    """The interval where drawing could tell nothing."""
    if len(sums) < 2:
        return math.nan, math.nan
    means = sums / sizes
    return (float(means[0]), float(means[0])) if means.min() == means.max() else None


def _resample(
    columns: Sequence[Floats], sizes: Floats, samples: int, seed: int, threads: int
) -> Floats:
    """Means of *samples* draws, with replacement, of as many clusters as there are: one row for
    each column of cluster sums."""
    replicates = np.empty((len(columns), samples))
    count = len(sizes)
    generator = np.random.default_rng(seed)
    same_size = len(sizes) > 0 and sizes.min() == sizes.max()
    step = max(1, _DRAWS_AT_ONCE // max(1, count))
    with ThreadPoolExecutor(threads) as pool:  # which starts threads only when there is work
        for start in range(0, samples if columns else 0, step):
            some = slice(start, min(start + step, samples))
            drawn = generator.integers(0, count, (some.stop - some.start, count))
            weight = count * sizes[0] if same_size else sizes[drawn].sum(axis=1)
            replicates[:, some] = list(pool.map(partial(_drawn_means, drawn, weight), columns))
    return replicates


def _drawn_means(drawn: npt.NDArray[np.int64], weight: Floats | float, sums: Floats) -> Floats:
    totals: Floats = sums[drawn].sum(axis=1)
    return totals / weight


def _bca_tails(
    replicates: Floats, sums: Floats, sizes: Floats, level: float
) -> tuple[float, float]:
    """Which quantiles of the replicates bound the interval, corrected for bias and skewness."""
    normal = NormalDist()
    samples = len(replicates)
    mean = sums.sum() / sizes.sum()
    below = np.count_nonzero(replicates < mean) + np.count_nonzero(replicates == mean) / 2
    # Keep half a replicate from either end, where the bias would be infinite.
    bias = normal.inv_cdf(min(max(below, 0.5), samples - 0.5) / samples)

    without_one = (sums.sum() - sums) / (sizes.sum() - sizes)
    influence = without_one.mean() - without_one
    spread = float((influence**2).sum())
    skewness = float((influence**3).sum()) / (6 * spread**1.5) if spread > 0 else 0.0

    def corrected(tail: float) -> float:
        shifted = bias + normal.inv_cdf(tail)
        return normal.cdf(bias + shifted / (1 - skewness * shifted))

    return corrected((1 - level) / 2), corrected((1 + level) / 2)
