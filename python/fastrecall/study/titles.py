"""The titles of the tickets that a record's rows speak of, so that reports need no corpus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fastrecall.types import Corpus

LONGEST = 120
"""Characters of a title that are kept: what the memory itself keeps."""


def titles_of(corpus: Corpus, rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """``{"#7": {"kind": "pr", "title": "…"}}`` of every issue, PR and node that came instead.

    Where an issue and a PR share a number, as they never do on GitHub, the PR's title is told.
    """
    wanted = set()
    for row in rows:
        wanted |= {f"{row['repo']}#{row['issue']}", f"{row['repo']}#{row['pr']}"}
        for arms in row["misses"].values():
            for miss in arms.values():
                wanted.update(miss["instead"])
    return {
        ticket.ref: {"kind": ticket.kind, "title": ticket.title[:LONGEST]}
        for ticket in corpus.tickets
        if ticket.ref in wanted
    }
