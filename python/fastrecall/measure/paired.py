"""Tests between two arms that answered the same questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fastrecall.errors import InputError
from fastrecall.measure._clusters import Floats, cluster_sums, paired_differences

_EXACT_CLUSTERS = 20
"""Up to 2**20 sign patterns are counted one by one; beyond that they are drawn at random."""

_SIGNS_AT_ONCE = 1 << 21
"""Random signs held in memory at a time."""


class PairedHits(NamedTuple):
    """How two arms answered the same questions; the order of `newcombe_paired`'s arguments."""

    both: int
    first: int
    """Answered by the first arm only."""
    second: int
    """Answered by the second arm only."""
    neither: int

    @classmethod
    def of(cls, first: npt.ArrayLike, second: npt.ArrayLike) -> PairedHits:
        """Count two vectors of hits (true or 1) and misses (false or 0), ``[n]`` each.

        Raises:
            InputError: different shapes, or values other than 0 and 1.

        >>> PairedHits.of([1, 1, 0, 1], [1, 0, 0, 0])
        PairedHits(both=1, first=2, second=0, neither=1)
        """
        a, b = _hits(first, "first"), _hits(second, "second")
        if a.shape != b.shape:
            raise InputError(
                f"the first arm has {len(a)} answers and the second {len(b)}; "
                "expected one answer a question from both"
            )
        both, only_a, only_b = int((a & b).sum()), int((a & ~b).sum()), int((b & ~a).sum())
        return cls(both, only_a, only_b, len(a) - both - only_a - only_b)


def mcnemar(first: int, second: int) -> float:
    """Exact two-sided McNemar test: could the arms' disagreements be a fair coin's?

    Args:
        first: questions that only the first arm answered.
        second: questions that only the second arm answered.

    Returns:
        The p-value, twice the smaller binomial tail and at most 1 (not the mid-p variant);
        1.0 when the arms never disagree, 0.0 when the probability is below about 1e-300.

    Raises:
        InputError: a negative count.

    Source: McNemar 1947, Psychometrika 12:153-157, with the exact binomial distribution.

    >>> round(mcnemar(1, 9), 6)
    0.021484
    """
    if first < 0 or second < 0:
        raise InputError(f"the counts {first} and {second} cannot be; expected 0 or more")
    n, smaller = first + second, min(first, second)
    if n == 0:
        return 1.0
    # Binomial coefficients relative to the largest, C(n, n // 2), walking outwards: each step is
    # one exact-to-rounding ratio, so that tails of 1e-300 keep 12 digits and nothing overflows.
    middle = n // 2
    i = np.arange(middle, 0, -1, dtype=np.float64)
    outwards = np.concatenate(([1.0], np.cumprod(i / (n - i + 1))))
    whole = 2 * outwards.sum() - (outwards[0] if n % 2 == 0 else 0.0)
    tail = outwards[middle - smaller :].sum() / whole
    return min(1.0, 2 * float(tail))


def permutation(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    clusters: npt.ArrayLike | None = None,
    *,
    samples: int = 10_000,
    seed: int = 0,
) -> float:
    """Two-sided paired permutation test of the difference of two means.

    If the arms were equal, each query's two scores could be swapped. Whole clusters are swapped
    together. With up to 20 clusters that differ at all, every pattern of swaps is counted and p is
    exact; with more, ``p = (count + 1) / (samples + 1)`` over random patterns.

    Args:
        first: scores of the first arm, ``[n]``.
        second: scores of the second arm on the same queries, ``[n]``.
        clusters: the cluster label of each query, ``[n]``; by default each stands alone.
        samples: random patterns, where not all are counted.
        seed: seed of the random patterns.

    Raises:
        InputError: shapes that do not fit, values that are not finite, ``samples`` below 1.

    Source: Fisher's randomization test as in Smucker, Allan and Carterette 2007, CIKM, 623-632;
    the "+ 1": Phipson and Smyth 2010, Stat. Appl. Genet. Mol. Biol. 9(1):39.

    >>> permutation([3.0, 2.0, 4.0, 5.0], [1.0, 1.0, 1.0, 1.0])
    0.125
    """
    if samples < 1:
        raise InputError(f"samples is {samples}; expected 1 or more")
    sums, _ = cluster_sums(paired_differences(first, second), clusters)
    sums = sums[sums != 0]
    # Sums that differ by rounding alone are ties, and ties count as "at least as large".
    threshold = abs(sums.sum()) - 1e-12 * np.abs(sums).sum()
    if len(sums) <= _EXACT_CLUSTERS:
        return float(np.mean(np.abs(_all_signed_sums(sums)) >= threshold))
    larger = _count_larger(sums, threshold, samples, seed)
    return (larger + 1) / (samples + 1)


def holm(pvalues: Sequence[float]) -> list[float]:
    """Holm's adjustment of several p-values, in the order given.

    A comparison is significant at level α when its adjusted value is at most α; the chance of any
    false alarm among all of them is then at most α.

    Raises:
        InputError: a p-value outside [0, 1].

    Source: Holm 1979, Scand. J. Stat. 6:65-70.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    for at, p in enumerate(pvalues):
        if not 0 <= p <= 1:
            raise InputError(f"pvalues[{at}] is {p}; expected a probability from 0 to 1")
    adjusted = [0.0] * len(pvalues)
    running = 0.0
    for place, at in enumerate(sorted(range(len(pvalues)), key=lambda i: pvalues[i])):
        running = max(running, min(1.0, (len(pvalues) - place) * float(pvalues[at])))
        adjusted[at] = running
    return adjusted


def _hits(values: npt.ArrayLike, name: str) -> npt.NDArray[np.bool_]:
    vector = np.asarray(values)
    if vector.ndim != 1:
        raise InputError(f"{name} has the shape {vector.shape}; expected one dimension")
    if not np.isin(vector, (0, 1)).all():
        raise InputError(f"{name} holds values other than 0 and 1; expected hits and misses")
    return vector.astype(np.bool_)


def _all_signed_sums(sums: Floats) -> Floats:
    """The total under each of the 2**n patterns of signs."""
    totals = np.zeros(1)
    for value in sums:
        totals = np.concatenate((totals + value, totals - value))
    return totals


def _count_larger(sums: Floats, threshold: float, samples: int, seed: int) -> int:
    """How many random sign patterns give a total at least as far from 0."""
    generator = np.random.default_rng(seed)
    count = len(sums)
    width = -(-count // 8)
    step = max(1, _SIGNS_AT_ONCE // count)
    larger = 0
    for start in range(0, samples, step):
        rows = min(step, samples - start)
        coins = np.frombuffer(generator.bytes(rows * width), np.uint8).reshape(rows, width)
        heads = np.unpackbits(coins, axis=1, count=count)
        # A sign is +1 for heads and -1 for tails: total = 2 * (sum over heads) - (sum over all).
        totals = 2 * (heads @ sums) - sums.sum()
        larger += int(np.count_nonzero(np.abs(totals) >= threshold))
    return larger
