"""Do the 95 % intervals hold the truth in 95 of 100 worlds? A simulation with known truths."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from fastrecall.measure import bootstrap_difference, bootstrap_mean, newcombe_paired, wilson

pytestmark = pytest.mark.slow

WORLDS = 2000
SIZES = np.array([1, 1, 1, 1, 2, 2, 3, 5])
"""Pairs a query, as a repository has them: most issues have one fix, some have several."""


def holds(interval: tuple[float, float], truth: float) -> bool:
    return interval[0] <= truth <= interval[1]


def clustered(
    generator: np.random.Generator, queries: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """The query of each pair, and a difficulty in [0, 1] that the pairs of a query share."""
    clusters = np.repeat(np.arange(queries), generator.choice(SIZES, queries))
    return clusters, generator.beta(0.6, 0.9, queries)[clusters]


@pytest.mark.parametrize("share", [0.32, 0.5, 0.72, 0.945])
def test_wilson_covers_a_share_of_independent_pairs(share: float) -> None:
    generator = np.random.default_rng(1)
    hits = generator.binomial(293, share, WORLDS)
    covered = np.mean([holds(wilson(int(k), 293), share) for k in hits])
    assert 0.93 < covered < 0.97


@pytest.mark.parametrize("queries", [80, 250])
def test_bootstrap_covers_a_share_of_clustered_pairs_where_wilson_does_not(queries: int) -> None:
    generator = np.random.default_rng(2)
    truth = 0.6 / 1.5
    by_bootstrap = by_wilson = 0
    for world in range(WORLDS):
        clusters, chance = clustered(generator, queries)
        hits = (generator.random(len(chance)) < chance).astype(float)
        by_bootstrap += holds(bootstrap_mean(hits, clusters, samples=1000, seed=world), truth)
        by_wilson += holds(wilson(int(hits.sum()), len(hits)), truth)
    assert 0.93 < by_bootstrap / WORLDS < 0.97
    assert by_wilson / WORLDS < 0.92


def test_bootstrap_covers_the_mean_of_reciprocal_ranks() -> None:
    generator = np.random.default_rng(3)
    ranks = np.array([1, 2, 3, 7, 30, np.inf])
    chances = np.array([0.3, 0.15, 0.1, 0.1, 0.05, 0.3])
    truth = float((chances / ranks).sum())
    covered = np.mean(
        [
            holds(
                bootstrap_mean(
                    1 / generator.choice(ranks, 120, p=chances), samples=1000, seed=world
                ),
                truth,
            )
            for world in range(WORLDS)
        ]
    )
    assert 0.93 < covered < 0.97


def test_bootstrap_covers_the_difference_of_two_arms_on_clustered_pairs() -> None:
    generator = np.random.default_rng(4)
    truth = 0.5 * (1 - 0.6 / 1.5)
    covered = 0
    for world in range(WORLDS):
        clusters, chance = clustered(generator, 120)
        # The first arm solves half of what the second leaves open.
        second = generator.random(len(chance)) < chance
        first = second | (generator.random(len(chance)) < 0.5)
        interval = bootstrap_difference(first, second, clusters, samples=1000, seed=world)
        covered += holds(interval, truth)
    assert 0.93 < covered / WORLDS < 0.97


@pytest.mark.parametrize(
    "shares", [(0.3, 0.25, 0.05, 0.4), (0.7, 0.05, 0.05, 0.2), (0.31, 0.63, 0.01, 0.05)]
)
def test_newcombe_covers_the_difference_of_two_paired_shares(
    shares: tuple[float, float, float, float],
) -> None:
    tables = np.random.default_rng(5).multinomial(293, shares, WORLDS)
    truth = shares[1] - shares[2]
    covered = np.mean([holds(newcombe_paired(*map(int, table)), truth) for table in tables])
    assert 0.93 < covered < 0.97
