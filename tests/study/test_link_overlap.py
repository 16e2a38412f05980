"""Link sources side by side, against counts made by hand."""

from __future__ import annotations

import pytest

from fastrecall.corpus import find_links, make_corpus
from fastrecall.report.links_table import render_links
from fastrecall.study.link_overlap import difference, link_overlap
from fastrecall.types import Corpus, Ticket


@pytest.fixture
def corpus() -> Corpus:
    issues = [Ticket("o/r", "issue", n, f"Symptom {n}", "", 0) for n in (1, 2, 3, 4)]
    prs = [
        Ticket("o/r", "pr", 11, "One", "Fixes #1", 0),  # published, github
        Ticket("o/r", "pr", 12, "Two, fixes #2", "Fixes: #2", 0),  # github, title
        Ticket("o/r", "pr", 13, "Three, fixes #3", "", 0),  # title
        Ticket("o/r", "pr", 14, "Four", "See https://github.com/o/r/issues/4", 0),  # mentions
        Ticket("o/r", "pr", 15, "Fifth", "fixture #4", 0),  # published
    ]
    return make_corpus([*issues, *prs], name="by hand")


def test_pairs_of_each_source_and_what_they_share(corpus: Corpus) -> None:
    overlap = link_overlap(corpus, find_links(corpus))
    assert overlap["pairs"] == 5
    assert {name: (s["pairs"], s["only"]) for name, s in overlap["sources"].items()} == {
        "published": (2, 1),
        "github": (2, 0),
        "linked": (0, 0),
        "title": (2, 1),
        "mentions": (1, 1),
    }
    assert not overlap["sources"]["linked"]["in_data"]
    both = overlap["both"]
    assert both["published"]["github"] == both["github"]["published"] == 1
    assert both["github"]["title"] == 1
    assert both["published"]["title"] == 0
    assert all(both[name][name] == s["pairs"] for name, s in overlap["sources"].items())


def test_gained_and_lost_pairs(corpus: Corpus) -> None:
    found = find_links(corpus)
    changed = difference(found, "published", ("github", "title"))
    named = [
        [(corpus.tickets[issue].number, corpus.tickets[pr].number) for issue, pr in pairs]
        for pairs in changed
    ]
    assert named == [[(2, 12), (3, 13)], [(4, 15)]]


def test_the_table_says_what_the_data_cannot_tell(corpus: Corpus) -> None:
    overlap = link_overlap(corpus, find_links(corpus))
    text = render_links(overlap, width=100, color=False)
    assert "5 pairs (issue, PR) found by any source" in text
    assert "not in the data" in text
    for width in (60, 80, 120):
        assert max(map(len, render_links(overlap, width=width, color=False).splitlines())) <= width
