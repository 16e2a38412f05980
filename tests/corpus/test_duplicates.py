"""Which issues are said to repeat another, and which are not."""

from __future__ import annotations

import pytest
from tests.corpus.builders import corpus, issue, pr

from fastrecall.corpus import Duplicate, find_duplicates
from fastrecall.types import Ticket


def found(again: Ticket, *others: Ticket) -> list[tuple[int, int, str]]:
    history = corpus(issue(5), issue(6), *others, again)
    return [
        (history.tickets[one.issue].number, history.tickets[one.original].number, one.evidence)
        for one in find_duplicates(history)
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Duplicate of #5", "duplicate of #5.", "Dup of #5", "dupe of GH-5", "Duplicates #5",
        "This is a duplicate of issue #5", "Closing as duplicate of #5",
        "Closing as a duplicate of: #5", "duplicated issue of #5", "**Duplicate of #5**",
        "Duplicate to #5", "Sure! It was not clear. Duplicate of #5",
    ],
)  # fmt: skip
def test_the_text_says_so(text: str) -> None:
    assert found(issue(9, body=text)) == [(9, 5, "text")]
    assert found(issue(9, comments=("Thanks!", text))) == [(9, 5, "text")]


@pytest.mark.parametrize(
    "text",
    [
        "Not a duplicate of #5", "This isn't a duplicate of #5", "Possible duplicate of #5",
        "Maybe a duplicate of #5?", "This looks like a duplicate of #5", "`duplicate of #5`",
        "> Duplicate of #5", "duplicate keys in #5", "see #5", "Duplicate of the other",
        "Duplicate of #9", "Duplicate of #77", "Duplicate of x/y#5",
    ],
)  # fmt: skip
def test_the_text_does_not_say_so(text: str) -> None:
    assert found(issue(9, body=text)) == []


@pytest.mark.parametrize(
    ("mark", "evidence"),
    [({"state_reason": "DUPLICATE"}, "state"), ({"labels": ("Duplicate",)}, "label"),
     ({"labels": ("bug", "status: duplicate")}, "label")],
)  # fmt: skip
def test_a_mark_makes_doubtful_and_single_references_sure(
    mark: dict[str, object], evidence: str
) -> None:
    assert found(issue(9, body="Possible duplicate of #5, see #6", **mark)) == [(9, 5, evidence)]
    assert found(issue(9, comments=("See #6, and #6.",), **mark)) == [(9, 6, evidence)]
    assert found(issue(9, body="#5 or #6?", **mark)) == []
    assert found(issue(9, body="nothing", **mark)) == []
    assert found(issue(9, body="duplicate of #5, see #6", **mark)) == [(9, 5, "text")]


def test_a_word_inside_a_label_is_no_mark() -> None:
    assert found(issue(9, body="see #5", labels=("deduplicate",))) == []


def test_of_two_that_name_each_other_the_younger_repeats_the_older() -> None:
    older, younger = issue(8, body="Duplicate of #9"), issue(9, body="Duplicate of #8")
    assert found(younger, older) == [(9, 8, "text")]


def test_a_pr_repeats_nothing_and_is_not_repeated() -> None:
    assert found(issue(9, body="Duplicate of #8"), pr(8, body="Duplicate of #5")) == []


def test_repositories_are_kept_apart() -> None:
    tickets = [issue(5, repo="a/a"), issue(5, repo="b/b")]
    again = issue(9, body="Duplicate of a/A#5", repo="b/b")
    history = corpus(*tickets, again)
    assert find_duplicates(history) == [Duplicate(2, 0, "text")]
