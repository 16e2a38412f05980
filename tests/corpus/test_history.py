"""Reverts and mentions: what is read, and what only looks like it."""

from __future__ import annotations

import pytest

from fastrecall.corpus import load_corpus
from fastrecall.corpus.build import make_corpus
from fastrecall.corpus.demo import planted
from fastrecall.corpus.history import find_mentions, find_reverts
from fastrecall.types import Ticket


def pr(number: int, title: str, body: str = "", **more: object) -> Ticket:
    return Ticket("a/b", "pr", number, title, body, number, **more)  # type: ignore[arg-type]


def reverts(*tickets: Ticket) -> list[tuple[int, int]]:
    corpus = make_corpus(tickets, name="a/b")
    numbers = [ticket.number for ticket in corpus.tickets] + [0]
    return [(numbers[one.revert], numbers[one.reverted]) for one in find_reverts(corpus)]


def test_the_demo_reverts_what_was_planted() -> None:
    corpus = load_corpus("demo", author_filter=None)
    tickets = corpus.tickets
    found = [(tickets[r.revert].number, tickets[r.reverted].number) for r in find_reverts(corpus)]
    assert tuple(sorted(found)) == tuple(sorted(planted().reverts))


@pytest.mark.parametrize(
    ("title", "body", "target"),
    [
        ('Revert "Add it"', "", 7),
        ('revert "ADD  it"', "", 7),
        ('[stable] Revert "Add it"', "", 7),
        ("Undo that", "Reverts #7", 7),
        ("Undo that", "Reverts a/b#7.", 7),
        ("Undo that", "This reverts commit " + "ab" * 20, 7),
        ("Undo that", "This reverts commit abababa", 7),
        ("Revert the change of yesterday", "", 0),
        ('Revert "Something else"', "", 0),
        ('Revert "Add it"', "Reverts c/d#7", 0),
    ],
)
def test_a_revert_names_what_it_undoes(title: str, body: str, target: int) -> None:
    assert reverts(pr(7, "Add it", head="ab" * 20), pr(9, title, body)) == [(9, target)]


@pytest.mark.parametrize(
    ("title", "body"),
    [
        ("Reverted index is slow", "> Reverts #7"),
        ("Reversible migrations", ""),
        ("Do not revert it", "`Reverts #7`"),
        ('Reapply "Add it"', ""),
    ],
)
def test_what_only_looks_like_a_revert(title: str, body: str) -> None:
    found = reverts(pr(7, "Add it"), pr(9, title, body))
    assert found == ([(9, 0)] if title.startswith("Reverted") else [])


def test_a_quoted_title_is_the_youngest_before() -> None:
    tickets = pr(1, "Add it"), pr(3, "Add it"), pr(5, 'Revert "Add it"'), pr(8, "Add it")
    assert reverts(*tickets) == [(5, 3)]


def test_a_revert_of_a_revert_undoes_the_revert() -> None:
    tickets = pr(1, "Add it"), pr(3, 'Revert "Add it"'), pr(5, 'Revert "Revert "Add it""')
    assert reverts(*tickets) == [(3, 1), (5, 3)]


def test_mentions_are_what_is_named_and_not_closed() -> None:
    issue = Ticket("a/b", "issue", 5, "Crash", "", 0)
    other = Ticket("a/b", "issue", 6, "Hang", "", 0)
    body = "Fixes #5. See #6, #6, `#5`, and the talk in https://github.com/a/b/pull/7; not #99."
    corpus = make_corpus([issue, other, pr(7, "Add it"), pr(9, "Fix", body)], name="a/b")
    assert [(m.change, m.target) for m in find_mentions(corpus)] == [(3, 1), (3, 2)]
