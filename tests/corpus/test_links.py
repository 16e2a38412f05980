"""Links by source: which pairs, which reasons, and the counts of real corpora."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from tests.corpus.builders import SHARED, corpus, issue, pr

from fastrecall.corpus import find_links, gold_from_links, load_corpus, own_repository
from fastrecall.types import LINK_SOURCES, Corpus

ISSUES = [issue(1), issue(2), issue(3, "  ")]


def found(history: Corpus) -> dict[tuple[int, int], set[str]]:
    links = find_links(history)
    tickets = history.tickets
    return {
        (tickets[i].number, tickets[p].number): {
            name for bit, name in enumerate(LINK_SOURCES) if sources >> bit & 1
        }
        for i, p, sources in zip(links.issues, links.prs, links.sources.tolist(), strict=True)
    }


def test_each_source_sets_its_bit() -> None:
    body = "fixture #1\nFixes: #2"
    pairs = found(corpus(*ISSUES, pr(10, "Fix #2", body, closes=(("", 1),))))
    assert pairs == {(1, 10): {"published", "linked"}, (2, 10): {"github", "title"}}


def test_rows_are_sorted_and_typed() -> None:
    history = corpus(*ISSUES, pr(12, body="fixes #1, fixes #2"), pr(11, body="fixes #2"))
    links = find_links(history)
    assert links.issues.tolist() == [0, 1, 1]
    assert links.prs.tolist() == [4, 3, 4]
    assert (links.issues.dtype, links.sources.dtype) == (np.int32, np.uint8)
    assert links.issues.flags.c_contiguous
    assert len(links.of("title")) == 0


def test_a_corpus_without_links() -> None:
    links = find_links(corpus(*ISSUES))
    assert (len(links), dict(links.notes)) == (0, {})


def test_targets_elsewhere_are_counted_by_source_and_reason() -> None:
    body = (
        "fixes #11, fixes #3, fixes #999, fixes #999, fixes x/y#1, https://github.com/x/y/issues/7"
    )
    links = find_links(corpus(*ISSUES, pr(10, "Fix #998", body), pr(11)))
    assert len(links) == 0
    assert links.notes == {
        "github.is_pr": 1,
        "github.no_title": 1,
        "github.other_repo": 1,
        "github.outside_window": 1,
        "mentions.other_repo": 1,
        "published.is_pr": 1,
        "published.no_title": 1,
        "published.outside_window": 1,
        "title.outside_window": 1,
    }


def test_a_number_without_end_is_outside() -> None:
    links = find_links(corpus(*ISSUES, pr(10, body="fixes #" + "1" * 10_000)))
    assert links.notes == {"published.outside_window": 1}


def test_mentions_are_addresses_without_a_keyword() -> None:
    address = "https://github.com/o/r/issues/"
    tickets = [replace(ticket, repo="o/r") for ticket in ISSUES]
    body = f"Fixes {address}1\n\nIssue: {address}2"
    pairs = found(corpus(*tickets, pr(10, body=body, repo="o/r")))
    assert pairs == {(1, 10): {"github"}, (2, 10): {"mentions"}}


def test_links_cross_repositories_and_ignore_the_case_of_names() -> None:
    here, there = issue(1, repo="O/r"), issue(1, repo="o/other")
    body = "fixes #1, fixes o/OTHER#1, closes o/R#1"
    links = find_links(corpus(here, there, pr(2, body=body, repo="O/r")))
    assert links.issues.tolist() == [0, 2]
    assert links.prs.tolist() == [1, 1]


def test_the_datas_own_links_are_of_the_prs_repository_unless_named() -> None:
    tickets = [issue(1, repo="a/a"), issue(1, repo="b/b")]
    closing = pr(2, repo="b/b", closes=(("", 1), ("A/A", 1), ("c/c", 1)))
    links = find_links(corpus(*tickets, closing))
    assert links.issues.tolist() == [0, 1]
    assert links.notes == {"linked.other_repo": 1}


def test_the_own_repository_is_what_most_addresses_name() -> None:
    address = "see https://github.com/o/r/issues/1 "
    history = corpus(*ISSUES, pr(10, body=address * 2 + "fixes O/R#2"), pr(11, body=address))
    assert own_repository(history) == ("o/r", 3)
    assert found(history) == {(1, 10): {"mentions"}, (2, 10): {"github"}, (1, 11): {"mentions"}}
    assert find_links(history).notes == {"own_repository.o/r": 3}


@pytest.mark.parametrize(
    "body",
    [
        "https://github.com/o/r/issues/1 https://github.com/o/r/pull/7",
        "https://github.com/o/r/pull/1 " * 3 + "https://github.com/x/y/issues/1 " * 3,
        "",
    ],
)
def test_no_own_repository_without_a_clear_majority(body: str) -> None:
    assert own_repository(corpus(*ISSUES, pr(10, body=body))) is None


def test_a_named_corpus_needs_no_guess() -> None:
    body = "https://github.com/x/y/issues/1 " * 5
    assert own_repository(corpus(issue(1, repo="o/r"), pr(2, body=body, repo="o/r"))) is None


REAL = {
    # pairs by published, their issues and PRs; pairs by title that no body has
    "merged": (316, 300, 282, 74),
    "mls-protocol": (125, 123, 107, 1),
    "draft-ietf-tls-esni": (94, 81, 85, 9),
    "oblivious-http": (63, 63, 57, 0),
    "tls13-spec": (34, 33, 33, 64),
}


@pytest.mark.skipif(not SHARED.exists(), reason=f"{SHARED} is not there")
@pytest.mark.parametrize("name", REAL)
def test_real_corpora_have_the_counts_that_others_found(name: str) -> None:
    history = load_corpus(SHARED / name)
    links = find_links(history)
    pairs, issues, prs, only_in_titles = REAL[name]
    gold = gold_from_links(history, links, ["published"])
    assert len(gold) == pairs
    assert len({pair.issue for pair in gold.pairs}) == issues
    assert len(links.of("published", "title")) == pairs + only_in_titles
    assert all(pair.query == history.tickets[pair.issue_node].title[:120] for pair in gold.pairs)
    assert len({pair.pr for pair in gold.pairs}) == prs


@pytest.mark.skipif(not SHARED.exists(), reason=f"{SHARED} is not there")
def test_what_the_grammars_find_apart_in_tls13_spec() -> None:
    history = load_corpus(SHARED / "tls13-spec")
    pairs = found(history)
    colon_forms = {pair for pair, names in pairs.items() if names == {"github"}}
    assert {1040, 1043} <= {number for number, _ in colon_forms}
    assert not {pair for pair, names in pairs.items() if "published" in names and len(names) == 1}


def test_twenty_thousand_tickets_take_little_time() -> None:
    text = "The tablet is lost after a split, see the log.\r\n\r\n" * 20 + "## Notes `x`\r\n"
    history = corpus(
        *(issue(number, "Crash", text) for number in range(1, 8001)),
        *(pr(number, body=f"{text}Fixes #{number - 8000}") for number in range(8001, 20001)),
    )
    start = time.process_time()
    links = find_links(history)
    assert len(links) == 8000
    assert time.process_time() - start < 5
