"""The window keeps the newest, drops mechanical authors, and says what it cut."""

from __future__ import annotations

import itertools
import random

import pytest
from tests.corpus.builders import issue, pr

from fastrecall.corpus.window import AUTHOR_FILTER, Window, author_matcher
from fastrecall.errors import InputError
from fastrecall.types import Ticket


def cut(tickets: list[Ticket], **options: object) -> list[tuple[str, int]]:
    window = Window(**options)  # type: ignore[arg-type]
    for ticket in tickets:
        window.add(ticket)
    kept, _, _ = window.close()
    return sorted((ticket.kind, ticket.number) for ticket in kept)


@pytest.mark.parametrize("spelling", ["{}", "app/{}", "{}[bot]"])
@pytest.mark.parametrize("pattern", ["^{}$", "^app/{}$", r"^{}\[bot\]$"])
def test_three_spellings_are_one_account(spelling: str, pattern: str) -> None:
    matches = author_matcher(pattern.format("helper"))
    assert matches(spelling.format("helper"))
    assert not matches(spelling.format("helpers"))


def test_the_published_filter() -> None:
    matches = author_matcher(AUTHOR_FILTER)
    dropped = ["ydbot", "github-actions", "dependabot[bot]", "app/renovate"]
    assert all(map(matches, dropped))
    kept = ["copilot-swe-agent", "ydbot2", "", "app/", "dependabot-fan"]
    assert not any(map(matches, kept))


def test_no_filter_and_an_unknown_author() -> None:
    assert not author_matcher(None)("renovate")
    assert not author_matcher("")("renovate")
    assert not author_matcher(".*")("")


@pytest.mark.parametrize("pattern", ["(", "*", "[a"])
def test_a_bad_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(InputError, match="is not a regular expression"):
        Window(author_filter=pattern)


def test_a_negative_window_is_refused() -> None:
    with pytest.raises(InputError, match="window_prs is -1"):
        Window(prs=-1)


def test_only_pr_authors_are_filtered() -> None:
    tickets = [issue(1, author="renovate"), pr(2, author="renovate"), pr(3, author="ann")]
    assert cut(tickets) == [("issue", 1), ("pr", 3)]


def test_authors_are_dropped_before_the_newest_are_counted() -> None:
    tickets = [pr(1, author="ann"), pr(2, author="renovate"), pr(3, author="ann")]
    assert cut(tickets, prs=2) == [("pr", 1), ("pr", 3)]


def test_ties_go_to_the_higher_number() -> None:
    assert cut([pr(n, created_at=5) for n in (2, 9, 4)], prs=2) == [("pr", 4), ("pr", 9)]


def test_the_window_spans_repositories() -> None:
    tickets = [pr(1, repo="a/a", created_at=3), pr(1, repo="b/b", created_at=2)]
    window = Window(prs=1)
    for ticket in tickets:
        window.add(ticket)
    assert [ticket.repo for ticket in window.close()[0]] == ["a/a"]


def test_any_order_and_size_agrees_with_sorting_everything() -> None:
    rng = random.Random(7)
    tickets = [
        (pr if rng.random() < 0.6 else issue)(
            number, created_at=rng.randrange(900), author=rng.choice(["ann", "renovate"])
        )
        for number in range(1, 6001)
    ]
    for limits in [(0, 5), (5, 0), (100, 40), (1000, 1000), (4000, 4000), (None, None)]:
        rng.shuffle(tickets)
        window = Window(prs=limits[0], issues=limits[1])
        for ticket in tickets:
            window.add(ticket)
        kept, counts, notes = window.close()
        newest = sorted(tickets, key=lambda t: (-t.created_at, -t.number))
        prs = [t for t in newest if t.kind == "pr" and t.author != "renovate"]
        issues = [t for t in newest if t.kind == "issue"]
        expected = prs[: limits[0]] + issues[: limits[1]]
        assert {t.number for t in kept} == {t.number for t in expected}
        assert notes == ()
        assert counts.read_prs + counts.read_issues == 6000
        assert counts.kept_prs + counts.kept_issues == len(expected)
        assert counts.dropped_authors == counts.read_prs - len(prs)
        assert counts.beyond_prs == len(prs) - counts.kept_prs
        assert counts.beyond_issues == len(issues) - counts.kept_issues


def test_no_more_is_held_than_the_window_needs() -> None:
    window = Window(prs=10, issues=10)
    for number in range(1, 20_001):
        window.add(pr(number))
        assert len(window._kept["pr"]) <= 2010


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_of_repeats_the_last_updated_stays_even_between_equal_ones(order: tuple[int, ...]) -> None:
    said = [(pr(1, title="new"), 1), (pr(1, title="new"), 5), (pr(1, title="old"), 3)]
    window = Window()
    for at in order:
        window.add(*said[at])
    assert [ticket.title for ticket in window.close()[0]] == ["new"]
