"""Closing links of a whole corpus, by named source."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator

import numpy as np

from fastrecall.corpus.github import (
    addressed_repositories,
    closing_references,
    issue_addresses,
    published_numbers,
    title_references,
)
from fastrecall.corpus.markdown import mask, mask_inline
from fastrecall.types import LINK_SOURCES, Corpus, Links, LinkSource, Ticket


def find_links(corpus: Corpus) -> Links:
    """Every closing link issue → PR that some source finds (docs/links.md defines the sources).

    A link needs an issue of the corpus with a title at its end. ``notes`` counts, for each source,
    the distinct (PR, target) that led elsewhere: ``"github.is_pr"``, ``"….outside_window"``,
    ``"….other_repo"``, ``"….no_title"``; and ``"own_repository.owner/name"`` when the corpus does
    not name its repository and its texts do (`own_repository`).

    >>> from fastrecall.corpus.build import make_corpus
    >>> issue = Ticket("", "issue", 5, "Crash", "", 0)
    >>> links = find_links(make_corpus([issue, Ticket("", "pr", 7, "Fix", "Fixes #5", 0)], name=""))
    >>> links.issues.tolist(), links.prs.tolist(), bin(links.sources[0])
    ([0], [1], '0b11')
    """
    targets = _Targets(corpus)
    for node, ticket in enumerate(corpus.tickets):
        if ticket.kind == "pr":
            targets.add(node, ticket)
    return targets.links()


def own_repository(corpus: Corpus) -> tuple[str, int] | None:
    """The repository that a corpus without repository names is of, as its texts say.

    It is the one that more than half of all addresses of issues and PRs in the texts point to (at
    least three); returned with their number. None: the corpus names repositories itself, or its
    texts do not agree.
    """
    if corpus.repos != ("",):
        return None
    counts: Counter[str] = Counter()
    for ticket in corpus.tickets:
        counts.update(addressed_repositories(ticket.body))
    if not counts:
        return None
    name, count = max(counts.items(), key=lambda item: (item[1], item[0]))
    return (name, count) if count >= 3 and 2 * count > counts.total() else None


def repository_names(corpus: Corpus, own: tuple[str, int] | None) -> dict[str, str]:
    """Lower-case names by which texts may call the corpus' repositories → the corpus' own names.

    *own* is what `own_repository` said.
    """
    names = {repo.lower(): repo for repo in corpus.repos if repo}
    return names | {own[0]: ""} if own else names


def _references(ticket: Ticket) -> Iterator[tuple[LinkSource, str, int]]:
    """(source, repository or "" for the PR's own, number) of everything a PR refers to."""
    for repo, number in ticket.closes or ():
        yield "linked", repo, number
    for reference in title_references(mask_inline(ticket.title.lower())):
        yield "title", reference.repo, reference.number
    body = ticket.body.lower()
    for number in published_numbers(body):
        yield "published", "", number
    # Masking only takes references away, so bodies without any need none.
    if any(closing_references(body)) or any(issue_addresses(body)):
        prose = mask(body)
        ends = set()
        for reference in closing_references(prose):
            ends.add(reference.end)
            yield "github", reference.repo, reference.number
        for reference in issue_addresses(prose):
            if reference.end not in ends:
                yield "mentions", reference.repo, reference.number


class _Targets:
    """Looks targets up, and gathers links and the reasons why others are none."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.own = own_repository(corpus)
        self.names = repository_names(corpus, self.own)
        self.untitled = frozenset(corpus.columns.untitled.tolist())
        self.issues, self.prs, self.sources = array("i"), array("i"), array("B")
        self.elsewhere: Counter[str] = Counter()

    def add(self, pr: int, ticket: Ticket) -> None:
        """Look up everything that a PR refers to."""
        found: dict[int, int] = {}
        elsewhere: set[tuple[LinkSource, str, str, int]] = set()
        for source, repo, number in _references(ticket):
            name = self.names.get(repo.lower()) if repo else ticket.repo
            issue, reason = (None, "other_repo") if name is None else self.look_up(name, number)
            if issue is None:
                elsewhere.add((source, reason, repo.lower(), number))
            else:
                found[issue] = found.get(issue, 0) | 1 << LINK_SOURCES.index(source)
        for issue, bits in found.items():
            self.issues.append(issue)
            self.prs.append(pr)
            self.sources.append(bits)
        self.elsewhere.update(f"{source}.{reason}" for source, reason, *_ in elsewhere)

    def look_up(self, repo: str, number: int) -> tuple[int | None, str]:
        issue = self.corpus.node(repo, "issue", number)
        if issue is not None:
            return (None, "no_title") if issue in self.untitled else (issue, "")
        is_pr = self.corpus.node(repo, "pr", number) is not None
        return None, "is_pr" if is_pr else "outside_window"

    def links(self) -> Links:
        issues, prs = np.array(self.issues, np.int32), np.array(self.prs, np.int32)
        order = np.lexsort((prs, issues))
        notes = {f"own_repository.{own[0]}": own[1]} if (own := self.own) else {}
        return Links(
            issues[order],
            prs[order],
            np.array(self.sources, np.uint8)[order],
            notes | dict(sorted(self.elsewhere.items())),
        )


def make_links(pairs: dict[tuple[int, int], int]) -> Links:
    """Links from {(issue node, PR node): bits of `LINK_SOURCES`}, in their order."""
    order = sorted(pairs)
    return Links(
        issues=np.array([issue for issue, _ in order], dtype=np.int32),
        prs=np.array([pr for _, pr in order], dtype=np.int32),
        sources=np.array([pairs[pair] for pair in order], dtype=np.uint8),
    )
