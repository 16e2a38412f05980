"""As the article asks: the query is the issue's title, and everything is indexed."""

from __future__ import annotations

from fastrecall.study.protocols.base import Asked, Case, Protocol, ask_pairs


def ask(case: Case) -> Asked:
    """All gold pairs; the asked issue stays in the index and is its own best match."""
    return ask_pairs(case, case.gold.pairs)


PROTOCOL = Protocol(
    "published",
    "as published",
    "the asked issue is itself stored, so that mostly the ticket finds itself",
    ask,
)
