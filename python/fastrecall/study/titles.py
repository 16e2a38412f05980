"""The titles of the tickets that a record's rows speak of, so that reports need no corpus."""

from __future__ import annotations

from collections.abc import Iterable

from fastrecall.types import Corpus, Kind

LONGEST = 120
"""Characters of a title that are kept: what the memory itself keeps."""


def titles_of(corpus: Corpus, refs: Iterable[str]) -> dict[str, dict[str, str]]:
    """``{"#7": {"kind": "pr", "title": "…"}}`` of the tickets that *refs* name.

    Where an issue and a PR share a number, as they never do on GitHub, the PR's title is told.
    """
    kinds: tuple[Kind, ...] = ("issue", "pr")
    names = [(repo, int(number)) for repo, _, number in (ref.rpartition("#") for ref in refs)]
    nodes = (corpus.node(repo, kind, number) for repo, number in names for kind in kinds)
    return {
        ticket.ref: {"kind": ticket.kind, "title": ticket.title[:LONGEST]}
        for _, ticket in corpus.read(node for node in nodes if node is not None)
    }
