"""Intervals for shares: one share, the difference of two paired shares, and what n can show."""

from __future__ import annotations

import math
from statistics import NormalDist

from fastrecall.errors import InputError

Z95 = 1.959964
"""Normal quantile of a 95 % interval, with the six decimals of the published tables."""


def wilson(k: int, n: int, *, z: float = Z95) -> tuple[float, float]:
    """Wilson score interval of the share ``k / n``.

    Without any trial (``n = 0``) nothing is known and the interval is the whole range
    ``(0.0, 1.0)``. The interval takes the trials as independent; where several pairs share a
    query, see `bootstrap_mean`.

    Args:
        k: successes, ``0 <= k <= n``.
        n: trials.
        z: normal quantile; the default gives 95 %.

    Returns:
        Lower and upper bound, both in [0, 1].

    Raises:
        InputError: counts that cannot be.

    Source: Wilson 1927, J. Am. Stat. Assoc. 22:209; recommended by Newcombe 1998,
    Stat. Med. 17:857-872.

    >>> "{:.1%} {:.1%}".format(*wilson(277, 293))
    '91.3% 96.6%'
    """
    if not 0 <= k <= n:
        raise InputError(f"a share of {k}/{n} cannot be; expected 0 <= k <= n")
    if n == 0:
        return 0.0, 1.0
    share = k / n
    weight = z * z / n
    centre = (share + weight / 2) / (1 + weight)
    half = math.sqrt(weight * (share * (1 - share) + weight / 4)) / (1 + weight)
    # At k = 0 and k = n a bound is exact; rounding must not move it past the end of the range.
    lower = 0.0 if k == 0 else centre - half
    upper = 1.0 if k == n else centre + half
    return lower, upper


def newcombe_paired(
    both: int, first: int, second: int, neither: int, *, z: float = Z95
) -> tuple[float, float]:
    """Interval of the difference (share of the first) - (share of the second), paired.

    Two arms answered the same questions. Newcombe's method 10 joins the Wilson intervals of the
    two shares ("square and add") and allows for their correlation. The pairs are taken as
    independent; where they are not, see `bootstrap_difference`.

    Args:
        both: questions that both arms answered.
        first: questions that only the first arm answered.
        second: questions that only the second arm answered.
        neither: questions that neither answered.
        z: normal quantile; the default gives 95 %.

    Returns:
        Lower and upper bound, both in [-1, 1]; ``(-1.0, 1.0)`` without any question.

    Raises:
        InputError: a negative count.

    Source: Newcombe 1998, Stat. Med. 17:2635-2650; recommended by Fagerland, Lydersen and Laake
    2014, Stat. Med. 33:2850-2875.

    >>> "{:.4f} {:.4f}".format(*newcombe_paired(59, 6, 16, 80))
    '-0.1186 -0.0046'
    """
    if min(both, first, second, neither) < 0:
        raise InputError(
            f"the paired counts {both}, {first}, {second}, {neither} cannot be; "
            "expected four counts of 0 or more"
        )
    n = both + first + second + neither
    if n == 0:
        return -1.0, 1.0
    hits_1, hits_2 = both + first, both + second
    low_1, high_1 = wilson(hits_1, n, z=z)
    low_2, high_2 = wilson(hits_2, n, z=z)
    share_1, share_2 = hits_1 / n, hits_2 / n
    down_1, up_1 = share_1 - low_1, high_1 - share_1
    down_2, up_2 = share_2 - low_2, high_2 - share_2
    phi = _continuity_corrected_phi(both, first, second, neither)
    # The squares cannot be negative (|phi| <= 1), but their rounded sum can.
    below = math.sqrt(max(0.0, down_1**2 - 2 * phi * down_1 * up_2 + up_2**2))
    above = math.sqrt(max(0.0, up_1**2 - 2 * phi * up_1 * down_2 + down_2**2))
    difference = (first - second) / n
    return difference - below, difference + above


def _continuity_corrected_phi(both: int, first: int, second: int, neither: int) -> float:
    """Correlation of the two answers; a positive one is pulled towards 0 by half a question."""
    margins = (both + first) * (second + neither) * (both + second) * (first + neither)
    if margins == 0:
        return 0.0
    covariance: float = both * neither - first * second
    if covariance > 0:
        covariance = max(0.0, covariance - (both + first + second + neither) / 2)
    return covariance / math.sqrt(margins)


def minimum_detectable_effect(
    n: int, *, discordant: float = 0.5, power: float = 0.8, level: float = 0.95
) -> float:
    """The smallest true difference of two paired shares that *n* questions would reveal.

    A McNemar test at significance ``1 - level`` finds a difference of this size with probability
    *power*. The answer depends on how often the arms disagree: *discordant* is that share of the
    questions. The default 0.5 is what two unrelated arms with 50 % each would give, a cautious
    choice; put in the observed share when there is one.

    Returns:
        A difference in (0, discordant]; nan when *n* questions cannot reveal any difference.

    Raises:
        InputError: ``n`` below 1, or a share outside (0, 1).

    Source: the sample size formula of Connor 1987, Biometrics 43:207-211, solved for the effect.

    >>> round(minimum_detectable_effect(293, discordant=0.2), 3)
    0.073
    """
    if n < 1:
        raise InputError(f"n is {n}; expected 1 question or more")
    if not 0 < discordant <= 1:
        raise InputError(f"discordant is {discordant}; expected a share above 0 and up to 1")
    if not (0 < power < 1 and 0 < level < 1):
        raise InputError(f"power is {power} and level {level}; expected both between 0 and 1")
    z_level = NormalDist().inv_cdf((1 + level) / 2)
    z_power = NormalDist().inv_cdf(power)
    # Connor: n d^2 = (z_level sqrt(discordant) + z_power sqrt(discordant - d^2))^2, here for d.
    inner = n + z_power**2 - z_level**2
    if inner < 0:
        return math.nan
    effect = (
        math.sqrt(discordant)
        * (z_level * math.sqrt(n) + z_power * math.sqrt(inner))
        / (n + z_power**2)
    )
    return effect if effect <= discordant else math.nan
