"""A question to an index, and ranked answers that say where they came from.

The ranking is the arm that the index was built for, by the very code that `fastrecall eval`
measures: `best`, or `hybrid_causal` in an index of more than `BEST_UP_TO` tickets.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fastrecall.errors import InputError
from fastrecall.search.index.opened import Index
from fastrecall.search.index.ranking import MOST_ANSWERS, Found, Place
from fastrecall.types import Kind, Ticket


@dataclass(frozen=True)
class Filters:
    """Which tickets may be answers. Times are seconds since 1970, *until* is past the end.

    A ticket that is filtered out may still lead to a PR that is linked with it.
    """

    kind: Kind | None = None
    since: int | None = None
    until: int | None = None
    repo: str | None = None
    author: str | None = None


@dataclass(frozen=True)
class Answer:
    """One ticket that may answer the question.

    ``via`` is the ticket that was found and led here, with its ``via_place`` and the ``relation``
    of this one to it; None when this one was found itself. ``closes`` are the issues that a PR
    closes.
    """

    node: int
    ticket: Ticket
    place: Place
    via: Ticket | None = None
    via_place: Place | None = None
    relation: str = "closes"
    closes: tuple[Ticket, ...] = ()

    @property
    def id(self) -> str:
        """What `find_ticket` finds it by again."""
        return ticket_id(self.ticket)

    @property
    def origin(self) -> str:
        """Where it came from, in words.

        >>> place = Place(2, 0.5, None, None)
        >>> issue, pr = Ticket("", "issue", 7, "Crash", "", 0), Ticket("", "pr", 12, "Fix", "", 0)
        >>> Answer(1, pr, Place(None, None, None, None), issue, place).origin
        'closes #7 ← asked-like issue #7 (semantic 2)'
        """
        if self.via is None:
            closes = ", ".join(ticket.ref for ticket in self.closes)
            return f"{self.place}; closes {closes}" if closes else str(self.place)
        like = f"asked-like {_word_for(self.via)} {self.via.ref} ({self.via_place})"
        return f"{self.relation} {self.via.ref} ← {like}"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "id": self.id,
            "kind": self.ticket.kind,
            "repo": self.ticket.repo,
            "number": self.ticket.number,
            "title": self.ticket.title,
            "author": self.ticket.author,
            "state": state_of(self.ticket),
            "created_at": self.ticket.created_at,
            "closed_at": self.ticket.closed_at,
            "merged_at": self.ticket.merged_at,
            "url": self.ticket.url,
            "origin": self.origin,
            "closes": [ticket_id(ticket) for ticket in self.closes],
            **vars(self.place),
            "via": None
            if self.via is None or self.via_place is None
            else {
                "id": ticket_id(self.via),
                "title": self.via.title,
                "relation": self.relation,
                **vars(self.via_place),
            },
        }


@dataclass(frozen=True)
class Answers:
    """What was found for a question, best first; none when nothing is close.

    ``ranked_by`` is the arm that answered.
    ``cosine`` is that of the nearest ticket, ``border`` what it would have to be; a ticket that
    holds a rare name of the question (``named``) is close as well. ``nothing`` is a sentence that
    says why there are no answers, empty when there are some.
    """

    answers: tuple[Answer, ...]
    nothing: str
    cosine: float
    border: float
    named: bool
    ranked_by: str

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "ranked_by": self.ranked_by,
            "nothing": self.nothing,
            "nearest_cosine": self.cosine,
            "close_from_cosine": self.border,
            "holds_rare_name": self.named,
            "answers": [answer.as_dict() for answer in self.answers],
        }


_ANYTHING = Filters()


def ask(
    index: Index,
    question: str,
    *,
    k: int = 10,
    filters: Filters = _ANYTHING,
    without: int | None = None,
) -> Answers:
    """The *k* best answers of an index to a question: a symptom, a title, an error message.

    Args:
        index: what `open_index` opened.
        question: any text that says something; only the model's first tokens are read.
        k: how many at most, 1 to `MOST_ANSWERS`.
        filters: which tickets may be answers.
        without: a node that does not exist for this question, to measure with.

    Raises:
        InputError: an empty question, *k* out of range, an unknown repository or author.

    >>> import fastrecall as fr, pathlib, tempfile
    >>> place = pathlib.Path(tempfile.mkdtemp())
    >>> _ = fr.build_index(fr.load_corpus("demo"), place, model="fake", cache=False)
    >>> [answer.id for answer in ask(fr.open_index(place), "the snapshot is torn", k=1).answers]
    ['issue demo/lattice#1186']
    """
    if not question.strip():
        raise InputError("the question is empty; give a symptom, such as the title of an issue")
    if not 1 <= k <= MOST_ANSWERS:
        raise InputError(f"k is {k}; expected 1 to {MOST_ANSWERS}")
    wanted = _wanted(index, filters)
    visible = _leads_to(index, wanted)
    if without is not None:
        visible[without] = wanted[without] = False
    found = index.ranker.rank(question, wanted=wanted, visible=visible, without=without, k=k)
    named = bool(visible[index.named_in(question)].any())
    border = index.closeness.cosine
    nothing = ""
    if not wanted.any():
        nothing = "Nothing: no ticket passes the filters."
    elif not named and found.cosine < border:
        nothing = (
            f"Nothing close: the nearest ticket has a cosine of {found.cosine:.2f}, and related "
            f"tickets of this corpus lie at {border:.2f} or more."
        )
    ranked = [] if nothing else zip(found.ids.tolist(), found.leads.tolist(), strict=True)
    answers = tuple(_answer(index, found, node, lead) for node, lead in ranked)
    return Answers(answers, nothing, found.cosine, border, named, index.manifest.ranked_by)


def find_ticket(index: Index, id: str) -> tuple[int, Ticket]:
    """The node and ticket of ``pr #12``, ``issue owner/name#7``, ``owner/name#12`` or ``12``.

    Raises:
        InputError: there is none, or there are several.
    """
    text = id.strip()
    kind: Kind | None = None
    for one in ("issue", "pr"):
        if text.lower().startswith(f"{one} "):
            kind, text = one, text[len(one) :].strip()
    repo, _, number = text.rpartition("#")
    nodes = []
    if number.isascii() and number.isdecimal() and len(number) < 19:
        nodes = index.tickets.find(int(number), repo=repo, kind=kind)
    if not nodes:
        raise InputError(
            f"no ticket {id!r} in {index.manifest.corpus['name']}; expected an id as answers have "
            "them, such as 'pr #12' or 'issue owner/name#7'"
        )
    if len(nodes) > 1:
        which = ", ".join(ticket_id(index.tickets[node]) for node in nodes[:3])
        raise InputError(f"{id!r} names {len(nodes)} tickets ({which}); say which")
    return nodes[0], index.tickets[nodes[0]]


def ticket_id(ticket: Ticket) -> str:
    """What a ticket is called in answers.

    >>> ticket_id(Ticket("a/b", "pr", 7, "Fix", "", 0))
    'pr a/b#7'
    """
    return f"{ticket.kind} {ticket.ref}"


def _word_for(ticket: Ticket) -> str:
    return "PR" if ticket.kind == "pr" else "issue"


def state_of(ticket: Ticket) -> str:
    """``open``, ``closed`` or ``merged``, with the reason if one is told.

    >>> state_of(Ticket("", "issue", 7, "x", "", 0, state="CLOSED", state_reason="NOT_PLANNED"))
    'closed, not planned'
    """
    if ticket.merged_at is not None:
        return "merged"
    words = [ticket.state, ticket.state_reason if ticket.state_reason != "COMPLETED" else ""]
    return ", ".join(word.lower().replace("_", " ") for word in words if word)


def _wanted(index: Index, filters: Filters) -> npt.NDArray[np.bool_]:
    """Which nodes may be answers."""
    tickets = index.tickets
    wanted = np.ones(len(index), np.bool_)
    if filters.kind is not None:
        wanted &= tickets.is_pr == (filters.kind == "pr")
    if filters.since is not None:
        wanted &= tickets.created_at >= filters.since
    if filters.until is not None:
        wanted &= tickets.created_at < filters.until
    for name in ("repo", "author"):
        value = getattr(filters, name)
        if value is not None:
            of = tickets.of(name, value.removesuffix("[bot]").removeprefix("app/"))
            if not of.any():
                raise InputError(_unknown(index, name, value))
            wanted &= of
    return wanted


def _unknown(index: Index, name: str, value: str) -> str:
    from difflib import get_close_matches

    what = {"repo": "repository", "author": "author"}[name]
    known = [one for one in index.tickets.distinct(name) if one]
    near = get_close_matches(value, known, n=3, cutoff=0.5) or known[:3]
    hint = f"; there are {', '.join(near)}" if near else ""
    return f"no ticket in {index.manifest.corpus['name']} has the {what} {value!r}{hint}"


def _leads_to(index: Index, wanted: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """The wanted nodes, and the issues that one of them closes."""
    visible = wanted.copy()
    issues, prs = index.links
    visible[issues[wanted[prs]]] = True
    return visible


def _answer(index: Index, found: Found, node: int, lead: int) -> Answer:
    closes = index.closes.neighbours(node, backwards=True).ids
    answer = Answer(
        node,
        index.tickets[node],
        found.place(node),
        closes=tuple(index.tickets[issue] for issue in closes),
    )
    if lead == node:
        return answer
    return replace(
        answer,
        via=index.tickets[lead],
        via_place=found.place(lead),
        relation=index.relation(node, lead),
    )
