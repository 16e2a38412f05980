"""The grammar of closing references, form by form (docs/links.md gives the reasons)."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastrecall.corpus.github import (
    closing_references,
    issue_addresses,
    published_numbers,
    title_references,
)
from fastrecall.corpus.markdown import mask

DOCS = Path(__file__).parents[2] / "docs"
URL = "https://github.com/o/r/issues/5"

# text of a PR body; what `published` finds; what `github` finds
GRAMMAR = [
    # the nine words, any case, optional colon
    *[(f"{word} #5", [5], [5]) for word in (
        "close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved",
        "CLOSES", "Fixes", "ReSolved",
    )],
    ("Fixes: #5", [], [5]),
    ("FIXES: #5", [], [5]),
    ("Fixes : #5", [], []),
    ("Fixes:#5", [], []),
    ("Fixes#5", [], []),
    ("Fixes   \t #5", [5], [5]),
    ("Fixes\u00a0#5", [5], [5]),
    ("Fixes\n#5", [5], []),
    ("Fixes:\n#5", [], []),
    ("- Fixes #5.", [5], [5]),
    ("(fixes #5)", [5], [5]),
    ("This PR fixes #5, I hope", [5], [5]),
    ("**Fixes #5**", [5], [5]),
    ("__Fixes #5__", [], [5]),
    ("_fixes #5_", [], [5]),
    ("**Fixes** #5", [], []),
    ("# Fixes #5", [5], [5]),
    ("исправил, fixes #5", [5], [5]),
    # forms of the reference
    ("Fixes o/r#5", [], ["o/r#5"]),
    ("Fixes my-org/my.repo_x#5", [], ["my-org/my.repo_x#5"]),
    ("Fixes GH-5", [], [5]),
    ("fixes gh-5", [], [5]),
    (f"Fixes {URL}", [], ["o/r#5"]),
    (f"Fixes: {URL}#issuecomment-123", [], ["o/r#5"]),
    (f"Fixes {URL}?x=1", [], ["o/r#5"]),
    (f"Fixes <{URL}>", [], ["o/r#5"]),
    (f"Fixes {URL}.", [], ["o/r#5"]),
    ("Fixes http://www.github.com/O/R/pull/5/files", [], ["o/r#5"]),
    ("Fixes https://gitlab.com/o/r/issues/5", [], []),
    ("Fixes https://github.com/o/r/milestone/5", [], []),
    (f"Fixes [#5]({URL})", [], []),
    (f"Fixes [the crash]({URL})", [], []),
    ("Fixes r#5", [], []),
    ("Fixes \\#5", [], []),
    ("Fixes #5abc", [5], []),
    ("Fixes #5_a", [5], []),
    ("Fixes #5-a", [5], [5]),
    ("Fixes #0", [0], []),
    ("Fixes #05", [5], []),
    ("Fixes #12345678901", [12345678901], []),
    # one keyword, one reference
    ("Fixes #5, #6", [5], [5]),
    ("Fixes #5 and #6", [5], [5]),
    ("Fixes #5, fixes #6", [5, 6], [5, 6]),
    ("Resolves #10, resolves o/r#123", [10], [10, "o/r#123"]),
    # what is not said is not understood
    ("does not fix #5", [5], [5]),
    ("partly fixes #5", [5], [5]),
    ("fixes- #5", [], []),
    ("fixes 5", [], []),
    ("fixes issue #5", [], []),
    ("fixes the #5", [], []),
    # false friends
    ("fixture #4", [4], []),
    ("closely #6", [6], []),
    ("resolver #17", [17], []),
    ("fixing #5", [5], []),
    ("closing #5", [5], []),
    ("prefix #5", [], []),
    ("my_fixes #5", [], []),
    ("hotfix #5", [], []),
    ("hot-fix #5", [5], [5]),
    ("Fixes KIKIMR-21156", [], []),
    ("Fixes this problem: https://st.example.org/KIKIMR-5", [], []),
    ("final fix #33969", [33969], [33969]),
    ("Backup Fixes #2", [2], [2]),
    ("Some title (#5)", [], []),
    ("Merges #5", [], []),
    ("Cherry-pick of #5", [], []),
    ("Related issues: #5", [], []),
    ("Part of #5. See #6. Related to #7. Milestone 3 here #8", [], []),
    ("Addresses #5, implements #6", [], []),
    # inert parts, which only `published` reads
    ("`Fixes #5`", [5], []),
    ("```\nFixes #5\n```", [5], []),
    ("~~~\nFixes #5\n~~~\nfixes #6", [5, 6], [6]),
    ("text\n\n    Fixes #5", [5], []),
    ("> Fixes #5", [5], []),
    ("> said\nFixes #5", [5], []),
    ("> said\n\nFixes #5", [5], [5]),
    ("<!-- Fixes #5 -->", [5], []),
    ("<!--\r\nFixes #5\r\n-->\r\nFixes #6", [5, 6], [6]),
    ("Fixes <!-- the crash --> #5", [], []),
    ("Fixes `x` #5", [], []),
    ("Line\r\nFixes #5\r\nLine", [5], [5]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "published", "github"), GRAMMAR)
def test_grammar(text: str, published: list[int], github: list[int | str]) -> None:
    assert list(published_numbers(text.lower())) == published
    found = [
        f"{reference.repo}#{reference.number}" if reference.repo else reference.number
        for reference in closing_references(mask(text.lower()))
    ]
    assert found == github


def documented() -> list[tuple[str, str, str]]:
    """The rows of the table of decisions in docs/links.md: text, published, github."""
    table = (DOCS / "links.md").read_text(encoding="utf-8").partition("form by form")[2]
    rows = re.findall(r"^\| (`+)(.+?)\1 \| (yes|no) \| (yes|no) \|", table, re.MULTILINE)
    return [(text.replace("⏎", "\n"), published, github) for _, text, published, github in rows]


@pytest.mark.parametrize(("text", "published", "github"), documented())
def test_the_documented_decisions_hold(text: str, published: str, github: str) -> None:
    assert (5 in published_numbers(text.lower())) == (published == "yes")
    found = [reference.number for reference in closing_references(mask(text.lower()))]
    assert (5 in found) == (github == "yes")


def test_every_documented_decision_is_tested() -> None:
    page = (DOCS / "links.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if re.search(r"\| (yes|no) \| (yes|no) \|", line)]
    assert len(documented()) == len(rows) > 30


@pytest.mark.parametrize(
    ("title", "numbers"),
    [
        ("Fix #1234", [1234]),
        ("Crash at start. Fixes #12.", [12]),
        ("Crash at start (fixes #12)", [12]),
        ("Fixing #627", [627]),
        ("More about tickets, fixing #711.", [711]),
        ("Fix #7: crash at start", [7]),
        ("Crash at start; fixes #7", [7]),
        ("[core] fixes #7", [7]),
        ("Backup Fixes #2", []),
        ("Backup fixes #22", [22]),
        ("Fixture #44", []),
        ("final fix #33969", [33969]),
        ("Some change (#555)", []),
        ("Cherry-pick of #555", []),
    ],
)
def test_titles(title: str, numbers: list[int]) -> None:
    assert [reference.number for reference in title_references(title.lower())] == numbers


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        (f"### Changelog\n{URL}\n", [5]),
        (f"Issue: {URL}", [5]),
        (f"[ticket]({URL})", [5]),
        (f"<{URL}#issuecomment-1>", [5]),
        ("https://github.com/o/r/pull/5", []),
        ("https://github.com/o/r/issues", []),
        ("https://github.com/o/r/issues/5a", []),
        ("https://api.github.com/repos/o/r/issues/5", []),
        ("#5 o/r#5 GH-5", []),
        (f"`{URL}`", []),
    ],
)
def test_addresses(text: str, numbers: list[int]) -> None:
    assert [r.number for r in issue_addresses(mask(text.lower()))] == numbers


LITERALLY = re.compile(r"\b(?:clos|fix|resolv)\w*\s+#(\d+)", re.IGNORECASE | re.ASCII)


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["fix", "clos", "resolv", "Fixes", "ed", "a", "_", " ", "\n", "#", "#7", "12", "é", ":"]
        ),
        max_size=12,
    ).map("".join)
)
def test_the_articles_pattern_is_read_as_it_is_written(text: str) -> None:
    assert list(published_numbers(text.lower())) == [int(n) for n in LITERALLY.findall(text)]


@pytest.mark.parametrize(
    "unit",
    ["fix ", "fix", "fixes\t", "fixes #", "#1 ", "fixes #1", "fixes a/", "fixes #1_", "_fix",
     "fixes https://github.com/", "github.com/a/b/issues/", "fixes: ", "closes #1, "],
)  # fmt: skip
def test_a_hostile_megabyte_takes_linear_time(unit: str) -> None:
    text = unit * (1_000_000 // len(unit)) + " #1"
    start = time.process_time()
    for search in (published_numbers, closing_references, title_references, issue_addresses):
        for _ in search(text):
            pass
    assert time.process_time() - start < 10


def test_a_long_gap_takes_linear_time() -> None:
    start = time.process_time()
    assert list(published_numbers("fix" + " " * 1_000_000 + "#5")) == [5]
    assert list(published_numbers("fix" + "x" * 1_000_000 + "#5")) == []
    assert list(closing_references("fix" + " " * 1_000_000 + "x #5")) == []
    assert time.process_time() - start < 5
