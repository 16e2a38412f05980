"""What a report warns of, told from the numbers that it warns of."""

from __future__ import annotations

import pytest

from fastrecall.corpus import make_corpus
from fastrecall.report.cautions import cautions
from fastrecall.study import Record, evaluate
from fastrecall.types import Ticket


def record_of(issues: int, prs: int, *, budget: int) -> Record:
    """Each issue is closed by one PR; the other PRs close none."""
    tickets = [
        Ticket("", "issue", n, f"symptom {n} {'odd' * (n % 2)}", "", n)
        for n in range(1, issues + 1)
    ]
    for place in range(prs):
        issue = place + 1
        body = f"Fixes #{issue}" if issue <= issues else ""
        title = f"change {'symptom' * (issue % 2)} {issue}"
        tickets.append(Ticket("", "pr", 1000 + place, title, body, 2000 + place))
    corpus = make_corpus(tickets, name="made")
    return evaluate(corpus, model="fake", cache=False, budget=budget)


@pytest.mark.parametrize(("budget", "warned"), [(19, False), (20, True), (40, True)])
def test_a_budget_that_dice_would_do_with_is_called_large(budget: int, warned: bool) -> None:
    text = " ".join(cautions(record_of(10, 100, budget=budget)))
    assert ("is large beside 100 PRs" in text) == warned
    if budget == 40:
        assert "by the throw of dice finds 40.0 % of them" in text


@pytest.mark.parametrize(("half", "warned"), [(0.06, False), (0.1, True)])
def test_pairs_that_stand_and_fall_together_are_told(half: float, warned: bool) -> None:
    record = dict(record_of(20, 60, budget=8))
    arm = {
        "hits": 100,
        "pairs": 200,
        "wilson95": [0.44, 0.56],
        "rate_ci95": [0.5 - half, 0.5 + half],
    }
    all_found = arm | {"hits": 200, "rate_ci95": [1.0, 1.0]}
    block = {"title": "leave-one-out", "pairs": 200, "queries": 40}
    record["protocols"] = {"leave-one-out": block | {"arms": {"a": arm, "b": all_found}}}
    text = " ".join(cautions(record))
    told = (
        "leave-one-out: 200 pairs, but only 40 questions; taken by issue, intervals are about 1.7"
    )
    assert (told in text) == ("as wide as Wilson's" in text) == warned
