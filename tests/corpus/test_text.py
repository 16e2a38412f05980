"""Node and query texts, character by character."""

from __future__ import annotations

import pytest
from tests.corpus.builders import corpus, issue, pr

from fastrecall.corpus import node_text, node_texts, query_text
from fastrecall.errors import InputError


def test_cuts_count_code_points() -> None:
    text = node_text(issue(12, "😀" * 200, "é" * 400))
    assert text == "issue #12: " + "😀" * 120 + "\n" + "é" * 300


def test_a_pr_and_an_empty_body() -> None:
    assert node_text(pr(3, "Fix")) == "PR #3: Fix\n"


def test_texts_stand_in_node_order() -> None:
    texts = node_texts(corpus(pr(1, "c"), issue(9, "b"), issue(2, "a")))
    assert texts == ["issue #2: a\n", "issue #9: b\n", "PR #1: c\n"]


def test_query_forms() -> None:
    ticket = issue(1, "t" * 130, "b" * 310)
    assert query_text(ticket) == "t" * 120
    assert query_text(ticket, "body") == "b" * 300
    assert query_text(ticket, "title+body") == "t" * 120 + "\n" + "b" * 300
    with pytest.raises(InputError, match="expected one of title, body, title"):
        query_text(ticket, "titel")  # type: ignore[arg-type]
