"""What a node says, and what a query asks; cuts are in code points."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias, get_args

from fastrecall._on_demand import OnDemand
from fastrecall.errors import InputError
from fastrecall.types import Corpus, LazyTickets, Ticket

TITLE_CHARACTERS = 120
BODY_CHARACTERS = 300

QueryMode: TypeAlias = Literal["title", "body", "title+body"]

QUERY_MODES: tuple[QueryMode, ...] = get_args(QueryMode)

_PREFIX = {"issue": "issue", "pr": "PR"}


def node_text(ticket: Ticket) -> str:
    r"""The text that is embedded and searched for a ticket.

    >>> node_text(Ticket("", "pr", 7, "Fix crash", "Closes #5", 0))
    'PR #7: Fix crash\nCloses #5'
    """
    title, body = ticket.title[:TITLE_CHARACTERS], ticket.body[:BODY_CHARACTERS]
    return f"{_PREFIX[ticket.kind]} #{ticket.number}: {title}\n{body}"


def node_texts(corpus: Corpus, *, untitled: Collection[int] = ()) -> Sequence[str]:
    """The text of every node, in node order; of the nodes *untitled* without their title.

    They are made when they are asked for where the tickets are in files; going through them reads
    these once.
    """
    texts = NodeTexts(corpus.tickets, untitled)
    return texts if isinstance(corpus.tickets, LazyTickets) else list(texts)


class NodeTexts(OnDemand[str]):
    """The texts that `node_texts` tells of."""

    def __init__(self, tickets: Sequence[Ticket], untitled: Collection[int] = ()) -> None:
        self._tickets = tickets
        self._untitled = frozenset(untitled)

    def __len__(self) -> int:
        return len(self._tickets)

    def item(self, at: int) -> str:
        """See `OnDemand`."""
        return self._text(at, self._tickets[at])

    def __iter__(self) -> Iterator[str]:
        return map(self._text, range(len(self)), self._tickets)

    def _text(self, node: int, ticket: Ticket) -> str:
        return node_text(replace(ticket, title="") if node in self._untitled else ticket)


def query_text(ticket: Ticket, mode: QueryMode = "title") -> str:
    r"""What is asked in the name of a ticket: its cut title, its cut body, or both.

    Raises:
        InputError: *mode* is none of `QUERY_MODES`.

    >>> query_text(Ticket("", "issue", 5, "Crash", "It crashes.", 0), "title+body")
    'Crash\nIt crashes.'
    """
    title, body = ticket.title[:TITLE_CHARACTERS], ticket.body[:BODY_CHARACTERS]
    if mode == "title":
        return title
    if mode == "body":
        return body
    if mode == "title+body":
        return f"{title}\n{body}"
    raise InputError(f"query is {mode!r}; expected one of {', '.join(QUERY_MODES)}")
