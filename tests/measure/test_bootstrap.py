from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from fastrecall.errors import InputError
from fastrecall.measure import bootstrap as module
from fastrecall.measure import bootstrap_difference, bootstrap_mean, bootstrap_means


def scipy_bca(
    values: npt.NDArray[np.float64], seed: int, samples: int, level: float
) -> tuple[float, float]:
    result = stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=samples,
        confidence_level=level,
        method="BCa",
        rng=np.random.default_rng(seed),
    )
    return result.confidence_interval


@pytest.mark.parametrize("level", [0.9, 0.95])
@pytest.mark.parametrize("n", [2, 3, 20, 293])
def test_interval_of_separate_values_equals_scipy(n: int, level: float) -> None:
    values = np.random.default_rng(n).gamma(0.7, size=n)
    ours = bootstrap_mean(values, samples=2000, seed=5, level=level)
    assert ours == pytest.approx(scipy_bca(values, 5, 2000, level), rel=1e-9)


def test_interval_of_clusters_equals_a_plain_loop() -> None:
    generator = np.random.default_rng(3)
    clusters = np.sort(generator.integers(0, 40, 150))
    values = generator.random(40)[clusters] + generator.random(150)
    labels = np.unique(clusters)
    members = [values[clusters == label] for label in labels]

    draws = np.random.default_rng(11)
    replicates = []
    for _ in range(500):
        drawn = [members[at] for at in draws.integers(0, len(members), len(members))]
        replicates.append(np.concatenate(drawn).mean())
    mean = values.mean()
    bias = stats.norm.ppf(np.mean(np.array(replicates) < mean))
    without = np.array([values[clusters != label].mean() for label in labels])
    pull = without.mean() - without
    skew = (pull**3).sum() / (6 * (pull**2).sum() ** 1.5)
    shifted = bias + stats.norm.ppf([0.025, 0.975])
    tails = stats.norm.cdf(bias + shifted / (1 - skew * shifted))
    expected = tuple(np.quantile(replicates, tails))

    ours = bootstrap_mean(values, clusters, samples=500, seed=11)
    assert ours == pytest.approx(expected, rel=1e-9)


def test_repeating_a_value_inside_its_cluster_adds_no_certainty() -> None:
    values = np.random.default_rng(0).random(60)
    once = bootstrap_mean(values, samples=1000)
    thrice = bootstrap_mean(np.repeat(values, 3), np.repeat(np.arange(60), 3), samples=1000)
    assert thrice == pytest.approx(once, rel=1e-12)
    as_if_independent = bootstrap_mean(np.repeat(values, 3), samples=1000)
    assert as_if_independent[1] - as_if_independent[0] < 0.7 * (once[1] - once[0])


def test_cluster_labels_may_be_anything_in_any_order() -> None:
    values = np.random.default_rng(0).random(30)
    clusters = np.arange(30) // 3
    order = np.random.default_rng(1).permutation(30)
    names = np.array([f"q{label:02}" for label in clusters])
    ours = bootstrap_mean(values[order], names[order], samples=500)
    assert ours == pytest.approx(bootstrap_mean(values, clusters, samples=500), rel=1e-12)


def test_the_seed_decides_and_the_block_size_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).random(50)
    once = bootstrap_mean(values, seed=1, samples=3000)
    assert bootstrap_mean(values, seed=1, samples=3000) == once
    assert bootstrap_mean(values, seed=2, samples=3000) != once
    monkeypatch.setattr(module, "_DRAWS_AT_ONCE", 1000)
    assert bootstrap_mean(values, seed=1, samples=3000) == once


def test_interval_of_too_little_or_of_constants() -> None:
    assert all(math.isnan(bound) for bound in bootstrap_mean([]))
    assert all(math.isnan(bound) for bound in bootstrap_mean([0.5]))
    assert all(math.isnan(bound) for bound in bootstrap_mean([0.5, 0.7], [1, 1]))
    assert bootstrap_mean([0.25] * 10) == (0.25, 0.25)


def test_rare_hits_keep_finite_bounds() -> None:
    low, high = bootstrap_mean([1.0] + [0.0] * 2000, samples=200)
    assert 0 <= low < 1 / 2001 < high < 0.01


def test_difference_is_the_interval_of_the_paired_differences() -> None:
    generator = np.random.default_rng(4)
    first, second = generator.random(80), generator.random(80)
    clusters = np.arange(80) // 2
    ours = bootstrap_difference(first, second, clusters, samples=400, seed=9, level=0.9)
    assert ours == bootstrap_mean(first - second, clusters, samples=400, seed=9, level=0.9)
    swapped = bootstrap_difference(second, first, clusters, samples=400, seed=9, level=0.9)
    assert swapped == pytest.approx((-ours[1], -ours[0]), rel=1e-9)


@pytest.mark.parametrize(
    ("values", "clusters", "settings", "message"),
    [
        ([[1.0, 2.0]], None, {}, "one dimension"),
        ([1.0, math.nan], None, {}, r"values\[1\] is nan"),
        ([1.0, 2.0], [1], {}, "one cluster label a value"),
        ([1.0, 2.0], None, {"samples": 0}, "samples is 0"),
        ([1.0, 2.0], None, {"level": 95}, "level is 95"),
    ],
)
def test_what_cannot_be_resampled_is_refused(
    values: list[float], clusters: list[int] | None, settings: dict[str, int], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        bootstrap_mean(values, clusters, **settings)  # type: ignore[arg-type]


def test_arms_of_different_length_are_refused() -> None:
    with pytest.raises(InputError, match="2 values and the second 1"):
        bootstrap_difference([1.0, 2.0], [1.0])


def test_several_arms_get_the_intervals_that_each_gets_alone() -> None:
    rng = np.random.default_rng(11)
    clusters = rng.integers(0, 70, 200)
    arms = [rng.random(200), np.ones(200), rng.integers(0, 2, 200), np.zeros(200)]
    for labels in (clusters, None):
        together = bootstrap_means(arms, labels, samples=500, seed=3, threads=3)
        assert together == [bootstrap_mean(arm, labels, samples=500, seed=3) for arm in arms]


def test_several_arms_must_have_answered_the_same_questions() -> None:
    with pytest.raises(InputError, match="the arms have 2 and 3 values"):
        bootstrap_means([[1, 2], [1, 2, 3]])
