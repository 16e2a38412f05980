"""Tickets without their secrets, as an index keeps them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from fastrecall.search.redaction import redact
from fastrecall.types import LazyTickets, Ticket


def redacted(tickets: Sequence[Ticket]) -> Sequence[Ticket]:
    """The tickets, with secrets of known shapes taken out of titles and bodies.

    Those that are read on demand are redacted on demand.

    >>> redacted([Ticket("", "pr", 7, "Rotate ghp_" + "a1B2" * 9, "", 0)])[0].title
    'Rotate [redacted: GitHub token]'
    """
    if isinstance(tickets, LazyTickets):
        return _Redacted(tickets)
    return tuple(map(_redacted, tickets))


class _Redacted(LazyTickets):
    def __init__(self, tickets: LazyTickets) -> None:
        self._tickets = tickets
        self.columns = tickets.columns

    def __reduce__(self) -> tuple[type[_Redacted], tuple[LazyTickets]]:
        return _Redacted, (self._tickets,)  # columns come with the tickets

    def __len__(self) -> int:
        return len(self._tickets)

    def __iter__(self) -> Iterator[Ticket]:
        return map(_redacted, self._tickets)

    def item(self, at: int) -> Ticket:
        return _redacted(self._tickets[at])


def _redacted(ticket: Ticket) -> Ticket:
    title, body = redact(ticket.title), redact(ticket.body)
    return replace(ticket, title=title, body=body)
