"""The titles of the tickets that a record's rows speak of, so that reports need no corpus."""

from __future__ import annotations

from collections.abc import Container

from fastrecall.types import Corpus

LONGEST = 120
"""Characters of a title that are kept: what the memory itself keeps."""


def titles_of(corpus: Corpus, refs: Container[str]) -> dict[str, dict[str, str]]:
    """``{"#7": {"kind": "pr", "title": "…"}}`` of the tickets that *refs* name.

    Where an issue and a PR share a number, as they never do on GitHub, the PR's title is told.
    """
    return {
        ref: {"kind": ticket.kind, "title": ticket.title[:LONGEST]}
        for ticket in corpus.tickets
        if (ref := ticket.ref) in refs
    }
