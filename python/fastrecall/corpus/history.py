"""What changes say about earlier tickets: that they revert them, or just mention them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from fastrecall.corpus.github import REFERENCE, closing_references, reference_of
from fastrecall.corpus.links import own_repository, repository_names
from fastrecall.corpus.markdown import mask
from fastrecall.types import Corpus, Ids, Kind, Ticket

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
    names = repository_names(corpus, own_repository(corpus))
    said = [
        one
        for node, ticket in enumerate(corpus.tickets)
        if ticket.kind == "pr" and (one := _reverting(corpus, names, node, ticket)) is not None
    ]
    places = _Places(corpus, said)
    return [Revert(one.node, places.reverted(one)) for one in said]


def find_mentions(corpus: Corpus) -> list[Mention]:
    """The tickets that changes name without closing them, in node order, each pair once.

    Code, quotes and comments are not looked into. A ``#7`` is the issue of that number, else the
    PR.
    """
    names = repository_names(corpus, own_repository(corpus))
    found: list[Mention] = []
    for node, ticket in enumerate(corpus.tickets):
        text = f"{ticket.title}\n{ticket.body}".lower()
        if ticket.kind != "pr" or not any(sign in text for sign in ("#", "gh-", "github.com")):
            continue
        prose = mask(text)
        closed = {reference.end for reference in closing_references(prose)}
        targets = set()
        for match in _MENTION.finditer(prose):
            reference = reference_of(match)
            target = _numbered(corpus, names, ticket, reference.repo, reference.number)
            if reference.end not in closed and target not in (-1, node):
                targets.add(target)
        found += [Mention(node, target) for target in sorted(targets)]
    return found


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


class _Reverting(NamedTuple):
    """A PR that reverts: what its body names, in order, and the title that it quotes.

    What is named is a node (-1: not in the corpus), or the first letters of a commit's id.
    """

    node: int
    named: tuple[int | str, ...]
    quoted: tuple[str, str] | None


def _reverting(
    corpus: Corpus, names: dict[str, str], node: int, ticket: Ticket
) -> _Reverting | None:
    """What a PR says that it reverts; None: it does not revert."""
    named: list[int | str] = []
    body = ticket.body.lower()
    if "revert" in body:
        prose = mask(body)
        named += [match[1] for match in _BODY_COMMIT.finditer(prose)]
        for match in _BODY.finditer(prose):
            reference = reference_of(match)
            named.append(
                _numbered(corpus, names, ticket, reference.repo, reference.number, ("pr",))
            )
    if not named and not _TITLE.match(ticket.title):
        return None
    quoted = _QUOTED_TITLE.match(ticket.title)
    return _Reverting(node, tuple(named), quoted and (ticket.repo, _folded(quoted["title"])))


def _numbered(
    corpus: Corpus,
    names: dict[str, str],
    ticket: Ticket,
    repo: str,
    number: int,
    kinds: tuple[Kind, ...] = ("issue", "pr"),
) -> int:
    """The ticket of that number; ``""`` is the repository of *ticket* itself."""
    name = names.get(repo.lower()) if repo else ticket.repo.removeprefix(GIT)
    if name is not None:
        for kind in kinds:
            node = corpus.node(name, kind, number)
            if node is not None:
                return node
    return -1


class _Places:
    """Where the titles and commits are that reverting PRs speak of."""

    def __init__(self, corpus: Corpus, said: Iterable[_Reverting]) -> None:
        self._created_at = corpus.created_at
        self._titles: dict[tuple[str, str], list[int]] = {
            one.quoted: [] for one in said if one.quoted is not None
        }
        commits = any(isinstance(name, str) for one in said for name in one.named[:1])
        self._commits: list[tuple[str, int]] = []
        if not self._titles and not commits:
            return
        for node, ticket in enumerate(corpus.tickets):
            if ticket.kind == "pr":
                same = self._titles.get((ticket.repo, _folded(ticket.title)))
                if same is not None:
                    same.append(node)
                if commits and _SHA.fullmatch(ticket.head):
                    self._commits.append((ticket.head, node))
        self._commits.sort()

    def reverted(self, one: _Reverting) -> int:
        """The node of what is reverted, -1 when it is not in the corpus."""
        if not one.named:
            return self._titled(one)
        first = one.named[0]
        return self._committed(one.node, first) if isinstance(first, str) else first

    def _committed(self, node: int, prefix: str) -> int:
        """The one commit whose id begins like that."""
        at = bisect_left(self._commits, (prefix, -1))
        found = [other for sha, other in self._commits[at : at + 2] if sha.startswith(prefix)]
        return found[0] if len(found) == 1 and found[0] != node else -1

    def _titled(self, one: _Reverting) -> int:
        """The youngest PR, not younger than the reverting one, that has the title it quotes."""
        if one.quoted is None:
            return -1
        times = self._created_at
        older = [
            node
            for node in self._titles[one.quoted]
            if node != one.node and times[node] <= times[one.node]
        ]
        return max(older, key=lambda node: (times[node], node), default=-1)


def _folded(title: str) -> str:
    return " ".join(title.casefold().split())
