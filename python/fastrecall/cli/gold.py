"""``fastrecall gold``: the gold pairs of a corpus."""

from __future__ import annotations

import sys
from typing import Any

import click

from fastrecall.cli._kinds import Place
from fastrecall.cli._options import (
    corpus_options,
    gold_differences,
    parse_links,
    read_corpus,
    refuse_titles_only,
)


@click.command("gold")
@corpus_options
@click.option("--out", type=Place(), help="Write to this file instead of stdout.")
def command(links: str, out: str | None, **where: Any) -> None:
    """Write the gold pairs of CORPUS as CSV: issue, pr, query, pr_title.

    A gold pair is an issue and a pull request that says it closes it. With --gold, pairs found and
    pairs given are compared, and the differences told on stderr.
    """
    from fastrecall import corpus as room
    from fastrecall._term import note

    sources = parse_links(links)
    corpus, given = read_corpus(**where)
    refuse_titles_only(corpus)
    found = room.gold_from_links(corpus, room.find_links(corpus), sources)
    if given is not None:
        for line in gold_differences(corpus, given, sources):
            note(line)
    if out:
        room.write_gold(out, found)
        note(f"{len(found)} pairs written to {out}")
    else:
        sys.stdout.write(room.gold_csv(found))
