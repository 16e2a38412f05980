"""``fastrecall links``: the link sources of a corpus, side by side."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from fastrecall.cli._options import corpus_options, parse_links, read_corpus, refuse_titles_only
from fastrecall.cli._output import print_json
from fastrecall.errors import InputError

if TYPE_CHECKING:
    from fastrecall.types import Corpus, LinkSource

BASE: LinkSource = "published"


@click.command("links")
@corpus_options
@click.option(
    "--list", "listed", is_flag=True, help=f"List what --links gains and loses against {BASE}."
)
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def command(links: str, listed: bool, as_json: bool, **where: Any) -> None:
    """Show how many closing links of CORPUS each source finds, and how they overlap.

    With --list, every pair that the sources of --links gain and lose against `published` follows:
    `fastrecall links CORPUS --links github+title --list`.
    """
    from fastrecall import corpus as room
    from fastrecall._term import output_width
    from fastrecall.report.links_table import render_links
    from fastrecall.study.link_overlap import difference, link_overlap

    sources = parse_links(links)
    if listed and sources == (BASE,):
        raise InputError(f"--list needs other sources than {BASE}; add --links github+title")
    corpus, _ = read_corpus(**where)
    refuse_titles_only(corpus)
    found = room.find_links(corpus)
    overlap = link_overlap(corpus, found)
    changed = difference(found, BASE, sources)
    if as_json:
        if listed:
            overlap |= {
                side: [_refs(corpus, pair) for pair in pairs]
                for side, pairs in changed._asdict().items()
            }
        print_json(overlap)
        return
    width, color = output_width()
    sys.stdout.write(render_links(overlap, width=width, color=color))
    if listed:
        for side, pairs in changed._asdict().items():
            print(f"\n{side} by {'+'.join(sources)} against {BASE}: {len(pairs)}")
            sys.stdout.writelines(_lines(corpus, pairs))


def _refs(corpus: Corpus, pair: tuple[int, int]) -> dict[str, str]:
    issue, pr = (corpus.tickets[node] for node in pair)
    return {"issue": issue.ref, "pr": pr.ref, "title": issue.title, "pr_title": pr.title}


def _lines(corpus: Corpus, pairs: Iterable[tuple[int, int]]) -> Iterable[str]:
    from fastrecall._visible import visible

    for pair in pairs:
        told = {name: visible(text, 120) for name, text in _refs(corpus, pair).items()}
        yield f"  {told['issue']} {told['title']}\n    {told['pr']} {told['pr_title']}\n"
