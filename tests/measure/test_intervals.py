from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from fastrecall.errors import InputError
from fastrecall.measure import mcnemar, minimum_detectable_effect, newcombe_paired, wilson

Z = float(norm.isf(0.025))
"""The exact quantile, as statsmodels uses it; ours has the six published decimals."""

PUBLISHED = [
    (94, 293, 32.0819, 26.9986, 37.6290),
    (277, 293, 94.5392, 91.3146, 96.6111),
    (17, 47, 36.1702, 23.9662, 50.4641),
    (45, 47, 95.7447, 85.7515, 98.8252),
]

cell = st.integers(0, 400)


@pytest.mark.parametrize(("k", "n", "share", "low", "high"), PUBLISHED)
def test_wilson_gives_the_published_bounds(
    k: int, n: int, share: float, low: float, high: float
) -> None:
    assert round(100 * k / n, 4) == share
    assert tuple(round(100 * bound, 4) for bound in wilson(k, n)) == (low, high)


def test_wilson_equals_statsmodels() -> None:
    for n in (1, 2, 3, 10, 47, 293, 10_000):
        for k in {0, 1, n // 3, n // 2, n - 1, n}:
            reference = proportion_confint(k, n, alpha=0.05, method="wilson")
            assert wilson(k, n, z=Z) == pytest.approx(reference, rel=1e-9, abs=1e-12)


def test_wilson_of_nothing_is_the_whole_range() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


@given(st.integers(1, 10**7).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_stays_in_range_and_holds_the_share(counts: tuple[int, int]) -> None:
    k, n = counts
    low, high = wilson(k, n)
    assert 0 <= low <= k / n <= high <= 1
    mirrored = wilson(n - k, n)
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-12)


@pytest.mark.parametrize(("k", "n"), [(-1, 3), (4, 3), (1, 0)])
def test_wilson_refuses_impossible_counts(k: int, n: int) -> None:
    with pytest.raises(InputError, match=f"{k}/{n}"):
        wilson(k, n)


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        # Fagerland, Lydersen and Laake 2014: airway hyper-responsiveness, complete response.
        ((1, 1, 7, 12), (-0.507, -0.026)),
        ((59, 6, 16, 80), (-0.1186, -0.0046)),
    ],
)
def test_paired_difference_gives_the_published_bounds(
    table: tuple[int, int, int, int], expected: tuple[float, float]
) -> None:
    digits = 3 if table[0] == 1 else 4
    assert tuple(round(bound, digits) for bound in newcombe_paired(*table)) == expected


@given(cell, cell, cell)
def test_paired_difference_of_uncorrelated_arms_is_the_unpaired_one(
    both: int, first: int, second: int
) -> None:
    # With both * neither = first * second the correlation is 0, and the interval is Newcombe's
    # for two independent samples, which statsmodels has.
    if both == 0 or (first * second) % both:
        return
    neither = first * second // both
    n = both + first + second + neither
    reference = confint_proportions_2indep(
        both + first, n, both + second, n, method="newcomb", compare="diff", alpha=0.05
    )
    ours = newcombe_paired(both, first, second, neither, z=Z)
    assert ours == pytest.approx(reference, rel=1e-9, abs=1e-9)


@given(cell, cell, cell, cell)
def test_paired_difference_is_antisymmetric_and_holds_the_difference(
    both: int, first: int, second: int, neither: int
) -> None:
    low, high = newcombe_paired(both, first, second, neither)
    n = both + first + second + neither
    difference = (first - second) / n if n else 0.0
    assert -1 - 1e-12 <= low <= difference <= high <= 1 + 1e-12
    mirrored = newcombe_paired(both, second, first, neither)
    assert mirrored == pytest.approx((-high, -low), abs=1e-12)


def test_paired_difference_refuses_negative_counts() -> None:
    with pytest.raises(InputError, match="four counts"):
        newcombe_paired(1, -1, 0, 0)


@given(
    st.integers(1, 100_000),
    st.floats(0.01, 1.0),
    st.floats(0.05, 0.99),
    st.floats(0.5, 0.999),
)
def test_detectable_effect_solves_the_sample_size_formula(
    n: int, discordant: float, power: float, level: float
) -> None:
    effect = minimum_detectable_effect(n, discordant=discordant, power=power, level=level)
    if math.isnan(effect):
        return
    z_level, z_power = norm.isf((1 - level) / 2), norm.ppf(power)
    needed = (
        (z_level * math.sqrt(discordant) + z_power * math.sqrt(discordant - effect**2)) / effect
    ) ** 2
    assert needed == pytest.approx(n, rel=1e-6)


def test_detectable_effect_is_nan_when_nothing_can_be_detected() -> None:
    assert math.isnan(minimum_detectable_effect(1))
    assert math.isnan(minimum_detectable_effect(20, discordant=0.05))


@pytest.mark.parametrize(
    "settings", [{"n": 0}, {"discordant": 0.0}, {"discordant": 1.5}, {"power": 1.0}, {"level": 0.0}]
)
def test_detectable_effect_refuses_odd_settings(settings: dict[str, float]) -> None:
    with pytest.raises(InputError, match="expected"):
        minimum_detectable_effect(**{"n": 100, **settings})  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize(("n", "discordant"), [(300, 0.2), (1000, 0.5)])
def test_exact_mcnemar_finds_the_detectable_effect_about_as_often_as_promised(
    n: int, discordant: float
) -> None:
    effect = minimum_detectable_effect(n, discordant=discordant)
    generator = np.random.default_rng(7)
    shares = [(discordant + effect) / 2, (discordant - effect) / 2, 1 - discordant]
    drawn = generator.multinomial(n, shares, 4000)
    power = np.mean([mcnemar(int(first), int(second)) < 0.05 for first, second, _ in drawn])
    # The exact test is a little more cautious than the formula's.
    assert 0.73 < power < 0.82
