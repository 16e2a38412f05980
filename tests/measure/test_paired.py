from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar
from statsmodels.stats.multitest import multipletests

from fastrecall.errors import InputError
from fastrecall.measure import PairedHits, holm, mcnemar, permutation
from fastrecall.measure import paired as module


def exact_mcnemar(first: int, second: int) -> float:
    n = first + second
    tail = Fraction(sum(comb(n, i) for i in range(min(first, second) + 1)), 2**n)
    return float(min(Fraction(1), 2 * tail))


@pytest.mark.parametrize("n", [0, 1, 2, 7, 20, 199])
def test_mcnemar_equals_statsmodels(n: int) -> None:
    for first in range(n + 1):
        table = [[5, first], [n - first, 3]]
        reference = statsmodels_mcnemar(table, exact=True).pvalue if n else 1.0
        assert mcnemar(first, n - first) == pytest.approx(reference, rel=1e-9)


@pytest.mark.parametrize(
    ("first", "second"), [(199, 16), (183, 0), (28, 0), (30, 2), (900, 40), (1100, 1000)]
)
def test_mcnemar_keeps_nine_digits_far_out_in_the_tail(first: int, second: int) -> None:
    assert mcnemar(first, second) == pytest.approx(exact_mcnemar(first, second), rel=1e-11)


def test_mcnemar_bounds_the_published_runs() -> None:
    # Main run: 183 more pairs won than lost, at most 16 lost; first run: 28 and 2.
    assert mcnemar(183 + 16, 16) < 1e-40
    assert mcnemar(28 + 2, 2) < 3e-7


@given(st.integers(0, 3000), st.integers(0, 3000))
def test_mcnemar_is_symmetric_and_a_probability(first: int, second: int) -> None:
    assert 0 <= mcnemar(first, second) <= 1
    assert mcnemar(first, second) == mcnemar(second, first)


def test_mcnemar_refuses_negative_counts() -> None:
    with pytest.raises(InputError, match="0 or more"):
        mcnemar(-1, 2)


def test_paired_hits_are_counted() -> None:
    assert PairedHits.of([True, True, False, False], [1, 0, 1, 0]) == (1, 1, 1, 1)
    assert PairedHits.of([], []) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [([1, 0], [1], "2 answers"), ([0.5], [1], "hits and misses"), ([[1]], [[1]], "one dimension")],
)
def test_what_is_no_hit_or_miss_is_refused(
    first: list[float], second: list[float], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        PairedHits.of(first, second)


@pytest.mark.parametrize("seed", range(12))
def test_exact_permutation_equals_scipy(seed: int) -> None:
    generator = np.random.default_rng(seed)
    n = int(generator.integers(2, 12))
    # Coarse values make ties between sign patterns, and zeros.
    first, second = generator.integers(0, 4, n) / 4, generator.integers(0, 4, n) / 4 + 0.1 * seed
    reference = stats.permutation_test(
        (first, second),
        lambda a, b: np.mean(a - b),
        permutation_type="samples",
        n_resamples=np.inf,
        alternative="two-sided",
    )
    assert permutation(first, second) == pytest.approx(reference.pvalue, rel=1e-9)


def test_random_permutation_nears_the_exact_one(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(0)
    first = generator.random(18)
    second = first + generator.normal(0.05, 0.2, 18)
    exact = permutation(first, second)
    assert 0.005 < exact < 0.5
    monkeypatch.setattr(module, "_EXACT_CLUSTERS", 0)
    monkeypatch.setattr(module, "_SIGNS_AT_ONCE", 5000)
    drawn = permutation(first, second, samples=40_000, seed=3)
    assert drawn == pytest.approx(exact, abs=4 * (exact * (1 - exact) / 40_000) ** 0.5)
    assert drawn == permutation(first, second, samples=40_000, seed=3)
    assert round(drawn * 40_001) / 40_001 == drawn  # (count + 1) / (samples + 1)


def test_clusters_are_flipped_as_wholes() -> None:
    first, second = [3.0, 1.0, 2.0, 5.0, 4.0, 1.0], [1.0, 2.0, 0.0, 1.0, 2.0, 0.0]
    clusters = [0, 0, 1, 1, 2, 2]
    sums = [1.0, 6.0, 3.0]
    assert permutation(first, second, clusters) == permutation(sums, [0.0, 0.0, 0.0])
    assert permutation(first, second, clusters) == 0.25


def test_strong_evidence_never_gives_zero() -> None:
    assert permutation(np.ones(200), np.zeros(200), samples=99) == 0.01


def test_equal_arms_give_one() -> None:
    assert permutation([0.5] * 30, [0.5] * 30) == 1.0
    assert permutation([], []) == 1.0


def test_permutation_of_equal_arms_is_uniform() -> None:
    generator = np.random.default_rng(1)
    arms = generator.random((200, 2, 40))
    ps = [permutation(*pair, samples=199, seed=seed) for seed, pair in enumerate(arms)]
    assert stats.kstest(ps, "uniform").pvalue > 0.001


@pytest.mark.parametrize(
    ("first", "second", "settings", "message"),
    [
        ([1.0, 2.0], [1.0], {}, "2 values and the second 1"),
        ([np.inf], [1.0], {}, r"first\[0\] is inf"),
        ([1.0], [1.0], {"samples": 0}, "samples is 0"),
    ],
)
def test_what_cannot_be_permuted_is_refused(
    first: list[float], second: list[float], settings: dict[str, int], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        permutation(first, second, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("n", [1, 2, 3, 5, 12])
def test_holm_equals_statsmodels(n: int) -> None:
    # Rounding makes equal p-values; the square makes small ones.
    pvalues = (np.random.default_rng(n).random(n).round(1) ** 2).tolist()
    reference = multipletests(pvalues, method="holm")[1]
    assert holm(pvalues) == pytest.approx(list(reference), rel=1e-9, abs=1e-300)


def test_holm_of_nothing_and_of_nonsense() -> None:
    assert holm([]) == []
    with pytest.raises(InputError, match=r"pvalues\[1\] is 1.5"):
        holm([0.1, 1.5])
