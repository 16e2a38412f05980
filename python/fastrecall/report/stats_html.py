"""The figures of `fastrecall stats` as a page of its own."""

from __future__ import annotations

from fastrecall.report.page import render_page
from fastrecall.report.stats_sections import Block, stats_sections
from fastrecall.report.untrusted import cleaned


def render_stats_html(stats: Block) -> str:
    """The page of a document of `project_stats`: the sections of its table, the shares as bars.

    It loads nothing and runs nothing. Texts of tickets are escaped and cut.

    Raises:
        MissingExtraError: jinja2 is not installed.
    """
    page = cleaned(dict(stats))
    return render_page(
        "stats.html.j2",
        corpus=page["corpus"],
        versions=page["versions"],
        settings=page["settings"],
        sections=stats_sections(page),
    )
