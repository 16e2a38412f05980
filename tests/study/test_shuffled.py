"""The control: links that lie, while everything else about them stays as it was."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import fastrecall as fr
from fastrecall.corpus import make_corpus
from fastrecall.study import evaluate
from fastrecall.study.protocols.shuffled import shuffle_links
from fastrecall.types import Links, Ticket


def links_of(pairs: set[tuple[int, int]]) -> Links:
    issues, prs = np.array(sorted(pairs), dtype=np.int32).T
    return Links(issues, prs, np.ones(len(pairs), dtype=np.uint8))


@pytest.mark.parametrize("seed", range(20))
def test_no_link_leads_where_it_led_and_degrees_stay(seed: int) -> None:
    """Issues alone with their number of PRs, and PRs of many issues, among ordinary ones."""
    rng = np.random.default_rng(seed)
    pairs = {(issue, 100 + int(rng.integers(0, 30))) for issue in range(40)}
    pairs |= {(40 + many, 200 + pr) for many in range(6) for pr in range(many)}
    pairs |= {(50 + issue, 300) for issue in range(8)}
    links = links_of(pairs)
    shuffled = shuffle_links(links, seed)
    assert not shuffled.pairs() & pairs
    assert len(shuffled.pairs()) == len(pairs)
    for side in ("issues", "prs"):
        assert Counter(getattr(shuffled, side).tolist()) == Counter(getattr(links, side).tolist())
    again = shuffle_links(links, seed)
    np.testing.assert_array_equal(again.prs, shuffled.prs)


def test_demo_has_none_left() -> None:
    record = evaluate(fr.load_corpus("demo"), model="fake", cache=False, arms=["causal"])
    assert "kept_links" not in record["protocols"]["shuffled"]


def test_links_that_cannot_lie_are_counted_and_told() -> None:
    issues = [Ticket("", "issue", n, f"Symptom {n}", "", n) for n in range(1, 4)]
    body = "Fixes #1, fixes #2, fixes #3"
    prs = [Ticket("", "pr", 11, "Change", body, 9), Ticket("", "pr", 12, "Other", "", 9)]
    corpus = make_corpus([*issues, *prs], name="one PR")
    record = evaluate(corpus, model="fake", cache=False, budget=2, arms=["causal"])
    assert record["protocols"]["shuffled"]["kept_links"] == 3
    assert "shuffled links: 3 could not be led to a wrong PR" in record.table()
