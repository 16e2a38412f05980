"""Markdown for discussions: what strangers wrote stays text."""

from __future__ import annotations

import html
import re

import pytest

from fastrecall.corpus import make_corpus
from fastrecall.report.markdown import escape
from fastrecall.study import evaluate
from fastrecall.types import Ticket

MarkdownIt = pytest.importorskip("markdown_it").MarkdownIt

TEXTS = [
    "<script>alert(1)</script>",
    "*bold* _thin_ ~~gone~~ `code` [a](https://b.example) ![i](https://b.example/i.png)",
    "a | b | c",
    "\\*already\\*",
    "&lt;",
    "ping @octocat and @org/team",
    "closes #12, o/r#13, GH-14",
    "see https://evil.example or www.evil.example",
]


@pytest.mark.parametrize("text", TEXTS)
def test_readers_see_the_text_and_nothing_else(text: str) -> None:
    drawn = MarkdownIt("commonmark").enable(["strikethrough", "table"]).render(escape(text)).strip()
    assert "<" not in (
        plain := drawn.removeprefix("<p>").removesuffix("</p>").replace("<!-- -->", "")
    )
    assert html.unescape(plain) == text
    # What GitHub looks for in the finished page, text by text.
    for part in map(html.unescape, drawn.split("<!-- -->")):
        assert not re.search(r"@\w|#\d|GH-\d|://|www\.", part)


def test_a_record_of_a_hostile_corpus() -> None:
    tickets = [
        *(Ticket("o/r", "issue", n, f"symptom {n}", "", n) for n in range(1, 9)),
        *(Ticket("o/r", "pr", n + 20, "change", f"Fixes #{n}", 9) for n in range(1, 9)),
    ]
    corpus = make_corpus(tickets, name="@octocat <b>#1", notes=("| ping @octocat",))
    text = evaluate(corpus, model="fake", cache=False, budget=2).markdown()
    assert "@octocat" not in text
    assert "<b>" not in text
    for line in text.splitlines():
        if line.startswith("|"):
            assert line.count("|") == 6
