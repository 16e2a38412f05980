"""``fastrecall stats``: coding agents, automation, and work that returns."""

from __future__ import annotations

import sys
from typing import Any

import click

from fastrecall.cli._kinds import COUNT, Fraction, Place
from fastrecall.cli._options import UNCUT, model_options, parse_links
from fastrecall.cli._output import print_json
from fastrecall.types import LINK_SOURCES


@click.command("stats")
@click.argument("corpus", type=Place(), required=False)
@click.option("--prs", type=Place(), help="PRs as `gh pr list --json` writes them.")
@click.option("--issues", type=Place(), help="Issues as `gh issue list --json` writes them.")
@click.option(
    "--links",
    default="published",
    show_default=True,
    metavar="A+B",
    help=f"Sources of closing links: {', '.join(LINK_SOURCES)}.",
)
@click.option(
    "--threshold",
    type=Fraction(),
    default=0.95,
    show_default=True,
    help="The least cosine of two titles that are nearly the same.",
)
@click.option("--top", type=COUNT, default=10, show_default=True, help="Groups to name.")
@click.option(
    "--traces",
    type=Place(),
    help="A TOML file with more traces and automation accounts (docs/stats.md).",
)
@model_options
@click.option(
    "--memory",
    metavar="AMOUNT",
    help="Hold no more than this, such as 4GB; near titles of too many tickets are left out.",
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option("--html", type=Place(), help="Write the tables as a page.")
def command(
    corpus: str | None,
    prs: str | None,
    issues: str | None,
    links: str,
    as_json: bool,
    html: str | None,
    no_cache: bool,
    **options: Any,
) -> None:
    """Show what the history of CORPUS tells beside its recall.

    Direct traces of coding agents (a lower bound), the share of automation, reverts, flaky tests,
    regressions, titles that come again and again, and issues that took several PRs. Nothing is cut
    or filtered out: bots are part of the answer.
    """
    from fastrecall._files import atomic_write
    from fastrecall._term import note, output_width
    from fastrecall.cli._options import read_corpus
    from fastrecall.report.page import templating
    from fastrecall.report.stats_html import render_stats_html
    from fastrecall.report.stats_table import render_stats
    from fastrecall.study.stats import project_stats

    if html:
        templating()  # a missing package is told now, not after the work
    loaded, _ = read_corpus(corpus, prs=prs, issues=issues, **UNCUT)
    stats = project_stats(loaded, links=parse_links(links), cache=not no_cache, **options)
    if html:
        with atomic_write(html) as file:
            file.write(render_stats_html(stats))
        note(f"page written to {html}")
    if as_json:
        print_json(stats)
    else:
        width, color = output_width()
        sys.stdout.write(render_stats(stats, width=width, color=color))
