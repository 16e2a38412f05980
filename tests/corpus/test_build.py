"""Node order and fingerprints."""

from __future__ import annotations

import hashlib
import itertools
import random
import time
from dataclasses import replace

from tests.corpus.builders import corpus, issue, pr

from fastrecall.corpus import make_corpus, make_gold
from fastrecall.types import GoldPair, WindowCut

TICKETS = [
    issue(10, repo="b/b"), issue(2, repo="b/b"), pr(3, repo="b/b"), pr(1, repo="b/b"),
    issue(7, repo="a/a"), pr(5, repo="a/a"),
]  # fmt: skip


def test_node_order_is_repository_then_issues_then_numbers() -> None:
    shuffled = random.Random(3).sample(TICKETS, len(TICKETS))
    history = corpus(*shuffled)
    assert [(t.repo, t.kind, t.number) for t in history.tickets] == [
        ("a/a", "issue", 7), ("a/a", "pr", 5),
        ("b/b", "issue", 2), ("b/b", "issue", 10), ("b/b", "pr", 1), ("b/b", "pr", 3),
    ]  # fmt: skip
    assert history.fingerprint == corpus(*TICKETS).fingerprint
    assert history.cut == WindowCut(read_issues=3, read_prs=3, kept_issues=3, kept_prs=3)
    assert [history.node(t.repo, t.kind, t.number) for t in history.tickets] == list(range(6))


def test_the_fingerprint_is_the_hash_of_a_plain_text() -> None:
    ticket = pr(7, "Fix é", "b", repo="o/r", closes=(("", 5),), labels=("x",), merged_at=9)
    text = (
        "7,7,0,None,9,1,0,5;3,2,5,1,0,0,0,0,0,1,0;"
        "o/r" "pr" "Fix é" "b" "x"
    )  # fmt: skip
    assert corpus(ticket).fingerprint == hashlib.sha256(text.encode()).hexdigest()


def test_every_field_changes_the_fingerprint() -> None:
    base = pr(7, "ab", "c", labels=("x",), comments=("y",), closes=(("o/r", 5),))
    others = [
        replace(base, **change)
        for change in (
            {"repo": "o/r"}, {"kind": "issue"}, {"number": 8}, {"title": "a", "body": "bc"},
            {"created_at": 8}, {"author": "x"}, {"is_bot": True}, {"state": "OPEN"},
            {"state_reason": "OPEN"}, {"closed_at": 1}, {"merged_at": 1}, {"labels": ("x", "y")},
            {"labels": (), "comments": ("x", "y")}, {"closes": None}, {"closes": ()},
            {"closes": (("", 5),)}, {"closes": (("o/r", 6),)}, {"comments": ()}, {"base": "x"},
            {"url": "x"}, {"labels": ("x", ""), "comments": ("y",)},
        )
    ]  # fmt: skip
    prints = [corpus(ticket).fingerprint for ticket in [base, *others]]
    assert len(set(prints)) == len(prints)


def test_texts_do_not_run_into_each_other() -> None:
    parts = ["", "1", ",", ";", "0;1", "a"]
    prints = {
        corpus(issue(1, title, body, author=author)).fingerprint
        for title, body, author in itertools.product(parts, repeat=3)
    }
    assert len(prints) == len(parts) ** 3


def test_lone_surrogates_do_not_stop_the_fingerprint() -> None:
    assert corpus(issue(1, "\ud800")).fingerprint != corpus(issue(1, "\ud801")).fingerprint


def test_gold_fingerprints_ignore_nodes_and_nothing_else() -> None:
    pair = GoldPair("o/r", 1, 2, "q", "t", 0, 1)
    known = make_gold([pair], origin="x").fingerprint
    assert make_gold([replace(pair, issue_node=-1, pr_node=5)], origin="y").fingerprint == known
    for change in ({"repo": ""}, {"issue": 2}, {"pr": 3}, {"query": "qt"}, {"pr_title": ""},
                   {"grade": 2}, {"pr_repo": "x/y"}):  # fmt: skip
        assert make_gold([replace(pair, **change)], origin="x").fingerprint != known


def test_twenty_thousand_tickets_are_hashed_in_little_time() -> None:
    tickets = [issue(number, "A title of usual length", "x" * 1500) for number in range(20_000)]
    start = time.process_time()
    make_corpus(tickets, name="big")
    assert time.process_time() - start < 2
