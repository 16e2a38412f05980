"""The sums for large corpora follow from the measured rates, and the page shows them."""

from __future__ import annotations

import doctest
from dataclasses import replace

import pytest

import scale


def test_its_examples_run() -> None:
    assert doctest.testmod(scale).failed == 0


def test_the_page_shows_what_the_results_give() -> None:
    page = scale.PAGE.read_text(encoding="utf-8")
    assert scale.filled(page, scale.measured()) == page, "run: python bench/scale.py --write"


def test_rates_are_those_of_the_lines_measured() -> None:
    rates = scale.measured()
    results = scale.load(scale.RESULTS)
    [batch] = [
        one
        for one in results["batch1M"]["measurements"]
        if one.contender == "fastrecall" and one.threads == 2
    ]
    middle = sorted(batch.seconds["fastrecall"])[len(batch.seconds["fastrecall"]) // 2]
    assert rates.search(1000, 10**6) == pytest.approx(2 * middle)
    assert rates.search(293, 10**6) > 0.293 * rates.search(1000, 10**6)  # few questions: no codes
    assert rates.graph(10**7) == pytest.approx(100 * rates.graph(10**6))


def test_crossings_are_where_both_take_the_same() -> None:
    rates = scale.measured()
    nodes = rates.graph_crossing()
    assert rates.graph(0.9 * nodes) < rates.graph_by_hnsw(0.9 * nodes)
    assert rates.graph(1.1 * nodes) > rates.graph_by_hnsw(1.1 * nodes)
    asked = rates.questions_to_pay(10**6)
    hnsw = replace(rates, pair=0.0, embed=0.0)
    built_and_asked = hnsw.graph_by_hnsw(10**6) + (asked - 10**6) * rates.ask * 6 / 5
    assert built_and_asked == pytest.approx(rates.search(int(asked), 10**6), rel=1e-4)
