"""The page of the figures beside the recall."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from tests.report.browser import Browser, chromium
from tests.report.elements import HOSTILE, Elements

from fastrecall.corpus import load_corpus, make_corpus
from fastrecall.report.html import render_html
from fastrecall.report.stats_html import render_stats_html
from fastrecall.report.stats_sections import stats_sections
from fastrecall.study import Record, evaluate
from fastrecall.study.stats import project_stats
from fastrecall.types import Ticket


@pytest.fixture(scope="module")
def stats() -> dict[str, Any]:
    return project_stats(load_corpus("demo", author_filter=None), model="fake", cache=False)


def words(page: str) -> str:
    """What a reader sees."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


def test_every_section_and_cell_stands_in_the_page(stats: dict[str, Any]) -> None:
    shown = words(render_stats_html(stats))
    sections = stats_sections(stats)
    assert [section.key for section in sections] == [
        "agents",
        "automation",
        "returns",
        "titles",
        "many",
    ]
    for section in sections:
        assert section.title in shown
        for table in section.tables:
            for row in table.rows:
                assert " ".join(" ".join(row).split()) in shown
    assert "at least 39 of 740 PRs" in shown


def test_the_page_of_an_evaluation_shows_them_when_its_record_has_them(
    stats: dict[str, Any],
) -> None:
    record = evaluate(load_corpus("demo"), model="fake", cache=False, arms=["semantic", "causal"])
    without = words(render_html(record))
    with_stats = words(render_html(Record({**record, "stats": stats})))
    for section in stats_sections(stats):
        assert section.title in with_stats
        assert section.title not in without


def test_hostile_titles_make_no_elements() -> None:
    tickets = [
        Ticket("o/r", "pr", 2 * number + again, f"{text} {again}", "", number, author=text)
        for number, text in enumerate(HOSTILE)
        for again in (1, 2)
    ]
    page = render_stats_html(
        project_stats(make_corpus(tickets, name="<b>odd</b>"), model="fake", cache=False)
    )
    tags = {tag for tag, _ in Elements(page).found}
    assert not {"script", "img", "link", "iframe", "b"} & tags
    assert "\u202e" not in page
    page.encode()


def test_a_corpus_without_prs_has_a_page() -> None:
    corpus = make_corpus([Ticket("", "issue", 1, "One", "", 0)], name="x")
    assert "no PRs" in render_stats_html(project_stats(corpus, model="fake", cache=False))


@pytest.mark.parametrize("width", [360, 1200])
def test_the_page_fits_its_window(stats: dict[str, Any], tmp_path: Path, width: int) -> None:
    program = chromium()
    if program is None:
        pytest.skip("needs Chromium")
    file = tmp_path / "stats.html"
    file.write_text(render_stats_html(stats), encoding="utf-8")
    with Browser(program, tmp_path / "profile") as browser:
        browser.window(width, 844)
        browser.open(file.as_uri())
        assert browser.run("document.documentElement.scrollWidth") <= width
