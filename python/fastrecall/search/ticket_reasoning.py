"""The reasoning step over tickets: a language model reorders the head of a list of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from fastrecall.search.judge import Candidate
from fastrecall.search.reasoning import Reasoner, Reranked, reordered
from fastrecall.types import Ids, Ticket


@dataclass
class TicketReasoning:
    """Reorders rankings of ``tickets``, in node order; ``results`` keeps what calls came to."""

    reasoner: Reasoner
    tickets: Sequence[Ticket]
    results: list[Reranked] = field(default_factory=list)

    def reorder(self, queries: Sequence[str], ids: Ids, *, width: int) -> Ids:
        """Rankings in their new order, cut to *width*; one call a query.

        Raises:
            RemoteError: a call failed and the reasoner is told to stop then.
        """
        heads = ids[:, : max(width, self.reasoner.settings.max_candidates)]
        candidates = [
            [_candidate(self.tickets[node]) for node in row if node >= 0] for row in heads
        ]
        questions = list(zip(queries, candidates, strict=True))
        reranked = self.reasoner.rerank_many(questions, top=width)
        self.results += reranked
        return reordered(heads, reranked)


def _candidate(ticket: Ticket) -> Candidate:
    kind = "PR" if ticket.kind == "pr" else "issue"
    return Candidate(f"{kind} {ticket.ref}: {ticket.title}", ticket.body)
