"""What changes say about earlier tickets: that they revert them, or just mention them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from fastrecall.corpus.github import REFERENCE, closing_references, reference_of
from fastrecall.corpus.links import own_repository, repository_names
from fastrecall.corpus.markdown import mask
from fastrecall.types import Corpus, Ids, Ticket

GIT = "git:"
"""Before the name of a repository: its commits, which stand beside its issues and PRs."""

_TITLE = re.compile(r"\s*(?:\[[^\]]*\]\s*)?revert(?:s|ed|ing)?\b", re.IGNORECASE)
_QUOTED_TITLE = re.compile(r'\s*(?:\[[^\]]*\]\s*)?revert\s+["“](?P<title>.*)["”]', re.IGNORECASE)
_BODY = re.compile(rf"\breverts\s+(?:{REFERENCE})", re.VERBOSE)
_BODY_COMMIT = re.compile(r"\bthis reverts commit ([0-9a-f]{7,40})\b")
_MENTION = re.compile(rf"(?<![\w/&])(?:{REFERENCE})", re.VERBOSE)
_SHA = re.compile(r"[0-9a-f]{40}")


class Revert(NamedTuple):
    """PR node ``revert`` undoes PR node ``reverted``; -1: something that is not in the corpus."""

    revert: int
    reverted: int


class Mention(NamedTuple):
    """Change node ``change`` names node ``target`` and does not close it."""

    change: int
    target: int


def find_reverts(corpus: Corpus) -> list[Revert]:
    """The PRs that undo another one, in node order, each once.

    A PR reverts when its title begins with the word (behind a ``[branch]``), or when its body says
    "Reverts #7" or "This reverts commit 1a2b3c4". What it undoes is what the body names, else the
    youngest older PR that has the title in quotes.

    >>> from fastrecall.corpus.build import make_corpus
    >>> done = Ticket("", "pr", 7, "Add it", "", 0)
    >>> undone = Ticket("", "pr", 9, 'Revert "Add it"', "", 5)
    >>> find_reverts(make_corpus([done, undone], name="tiny"))
    [Revert(revert=1, reverted=0)]
    """
    places = _Places(corpus)
    found = []
    for node, ticket in enumerate(corpus.tickets):
        if ticket.kind == "pr":
            named = list(_named(places, node, ticket))
            if named or _TITLE.match(ticket.title):
                earlier = named or [places.titled(node, ticket)]
                found.append(Revert(node, earlier[0]))
    return found


def find_mentions(corpus: Corpus) -> list[Mention]:
    """The tickets that changes name without closing them, in node order, each pair once.

    Code, quotes and comments are not looked into. A ``#7`` is the issue of that number, else the
    PR.
    """
    places = _Places(corpus)
    found = set()
    for node, ticket in enumerate(corpus.tickets):
        text = f"{ticket.title}\n{ticket.body}".lower()
        if ticket.kind != "pr" or not any(sign in text for sign in ("#", "gh-", "github.com")):
            continue
        prose = mask(text)
        closed = {reference.end for reference in closing_references(prose)}
        for match in _MENTION.finditer(prose):
            reference = reference_of(match)
            target = places.numbered(ticket, reference.repo, reference.number)
            if reference.end not in closed and target not in (-1, node):
                found.add(Mention(node, target))
    return sorted(found)


def change_edges(corpus: Corpus) -> dict[str, tuple[Ids, Ids]]:
    """Edges ``reverts`` and ``mentions`` of a corpus, each as (sources, targets).

    This is the form that `fastrecall.graph.closing_edges` takes as *others*.

    >>> from fastrecall.corpus.build import make_corpus
    >>> first, second = (Ticket("", "pr", n, "Fix", "See #1", 0) for n in (1, 2))
    >>> change_edges(make_corpus([first, second], name="tiny"))["mentions"]
    (array([1], dtype=int32), array([0], dtype=int32))
    """
    pairs: dict[str, list[tuple[int, int]]] = {
        "reverts": [
            (one.revert, one.reverted) for one in find_reverts(corpus) if one.reverted >= 0
        ],
        "mentions": [(one.change, one.target) for one in find_mentions(corpus)],
    }
    columns = {name: np.array(rows, np.int32).reshape(-1, 2) for name, rows in pairs.items()}
    return {name: (rows[:, 0].copy(), rows[:, 1].copy()) for name, rows in columns.items()}


def _named(places: _Places, node: int, ticket: Ticket) -> Iterator[int]:
    """What the body says that it reverts."""
    body = ticket.body.lower()
    if "revert" not in body:
        return
    prose = mask(body)
    for match in _BODY_COMMIT.finditer(prose):
        yield places.committed(node, match[1])
    for match in _BODY.finditer(prose):
        reference = reference_of(match)
        yield places.numbered(ticket, reference.repo, reference.number, pr=True)


class _Places:
    """Finds nodes by what texts call them; -1 when they are not in the corpus."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.names = repository_names(corpus, own_repository(corpus))
        self._titles: dict[tuple[str, str], list[int]] = {}
        self._commits: list[tuple[str, int]] = []
        for node, ticket in enumerate(corpus.tickets):
            if ticket.kind == "pr":
                self._titles.setdefault((ticket.repo, _folded(ticket.title)), []).append(node)
                if _SHA.fullmatch(ticket.head):
                    self._commits.append((ticket.head, node))
        self._commits.sort()

    def numbered(self, ticket: Ticket, repo: str, number: int, *, pr: bool = False) -> int:
        """The ticket of that number; ``""`` is the repository of *ticket* itself."""
        own = ticket.repo.removeprefix(GIT)
        name = self.names.get(repo.lower()) if repo else own
        if name is None:
            return -1
        for kind in ("pr",) if pr else ("issue", "pr"):
            node = self.corpus.node(name, kind, number)  # type: ignore[arg-type]
            if node is not None:
                return node
        return -1

    def committed(self, node: int, prefix: str) -> int:
        """The one commit whose id begins like that."""
        at = bisect_left(self._commits, (prefix, -1))
        found = [other for sha, other in self._commits[at : at + 2] if sha.startswith(prefix)]
        return found[0] if len(found) == 1 and found[0] != node else -1

    def titled(self, node: int, ticket: Ticket) -> int:
        """The youngest PR older than *ticket* that has the title which it quotes."""
        match = _QUOTED_TITLE.match(ticket.title)
        if match is None:
            return -1
        same = self._titles.get((ticket.repo, _folded(match["title"])), [])
        tickets = self.corpus.tickets
        older = [one for one in same if tickets[one].created_at <= ticket.created_at]
        older = [one for one in older if one != node]
        return max(older, key=lambda one: (tickets[one].created_at, one), default=-1)


def _folded(title: str) -> str:
    return " ".join(title.casefold().split())
