"""Intervals for means: a seeded bootstrap that draws whole clusters of values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from fastrecall.errors import InputError
from fastrecall.measure._clusters import Floats, cluster_sums, finite_values, paired_differences

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
) -> list[tuple[float, float]]:
    """`bootstrap_mean` of several arms on the same queries; clusters are drawn once for all.

    Each interval is the one that `bootstrap_mean` gives.

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
    by_column = [cluster_sums(finite_values(values, "values"), clusters) for values in columns]
    if len({len(sums) for sums, _ in by_column}) > 1:
        raise InputError(
            f"the arms have {' and '.join(str(len(sums)) for sums, _ in by_column)} values; "
            "expected one value a query from each"
        )
    intervals = [_without_drawing(sums, sizes) for sums, sizes in by_column]
    open_ones = [at for at, interval in enumerate(intervals) if interval is None]
    drawn = _resample([by_column[at] for at in open_ones], samples, seed)
    for at, replicates in zip(open_ones, drawn, strict=True):
        tails = _bca_tails(replicates, *by_column[at], level)
        low, high = np.quantile(replicates, tails)
        intervals[at] = float(low), float(high)
    return [interval for interval in intervals if interval is not None]


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
    columns: Sequence[tuple[Floats, Floats]], samples: int, seed: int
) -> npt.NDArray[np.float64]:
    """Means of *samples* draws, with replacement, of as many clusters as there are: one row a
    column, all of which have the same clusters."""
    replicates = np.empty((len(columns), samples))
    if not columns:
        return replicates
    sizes = columns[0][1]
    count = len(sizes)
    generator = np.random.default_rng(seed)
    same_size = sizes.min() == sizes.max()
    step = max(1, _DRAWS_AT_ONCE // count)
    for start in range(0, samples, step):
        stop = min(start + step, samples)
        drawn = generator.integers(0, count, (stop - start, count))
        weight = count * sizes[0] if same_size else sizes[drawn].sum(axis=1)
        for row, (sums, _) in zip(replicates, columns, strict=True):
            row[start:stop] = sums[drawn].sum(axis=1) / weight
    return replicates


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
