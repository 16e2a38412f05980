"""Closing links of a whole corpus, by named source."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from fastrecall.corpus.github import (
    closing_references,
    issue_addresses,
    named_repositories,
    title_references,
)
from fastrecall.corpus.markdown import mask, mask_inline
from fastrecall.types import LINK_SOURCES, Corpus, Links, LinkSource, Ticket

# The article's pattern, read as JavaScript reads it: words and digits are ASCII, white space is
# Unicode, and the case is ignored (without that, "Closes #1" would not count).
_SPACE = r"[\s\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]"
_PUBLISHED = re.compile(rf"\b(?:clos|fix|resolv)\w*{_SPACE}+#(\d+)", re.IGNORECASE | re.ASCII)
_STEMS = ("clos", "fix", "resolv")
_ADDRESS = "github.com/"
_MORE_DIGITS_THAN_NUMBERS_HAVE = 19


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
            for source, repo, number in _references(ticket):
                targets.add(source, node, ticket, repo, number)
    return targets.links()


def own_repository(corpus: Corpus) -> tuple[str, int] | None:
    """The repository that a corpus without repository names is of, as its texts say.

    It is the one that more than half of the addresses and ``owner/name#N`` in the texts name
    (at least three); returned with their number. None: the corpus names repositories itself, or
    its texts do not agree.
    """
    if corpus.repos != ("",):
        return None
    counts: Counter[str] = Counter()
    for ticket in corpus.tickets:
        if "#" in ticket.body or _ADDRESS in ticket.body:
            counts.update(name.lower() for name in named_repositories(ticket.body))
    if not counts:
        return None
    name, count = max(counts.items(), key=lambda item: (item[1], item[0]))
    return (name, count) if count >= 3 and 2 * count > counts.total() else None


def repository_names(corpus: Corpus) -> dict[str, str]:
    """Lower-case names by which texts may call the corpus' repositories → the corpus' own names."""
    names = {repo.lower(): repo for repo in corpus.repos if repo}
    own = own_repository(corpus)
    return names | {own[0]: ""} if own else names


def _references(ticket: Ticket) -> Iterator[tuple[LinkSource, str, int]]:
    """(source, repository or "" for the PR's own, number) of everything a PR refers to."""
    for repo, number in ticket.closes or ():
        yield "linked", repo, number
    title = ticket.title
    if "#" in title or "/" in title or "-" in title:
        for reference in title_references(mask_inline(title)):
            yield "title", reference.repo, reference.number
    body = ticket.body
    lowered = body.lower()
    has_address = _ADDRESS in lowered
    # Looking for plain substrings first is many times faster than the patterns.
    if not has_address and "#" not in body and "gh-" not in lowered:
        return
    has_keyword = any(stem in lowered for stem in _STEMS)
    if has_keyword and "#" in body:
        for digits in _PUBLISHED.findall(body):
            yield "published", "", int(digits[:_MORE_DIGITS_THAN_NUMBERS_HAVE])
    closers = {}
    # Masking only takes matches away, so most bodies need none.
    if has_keyword and next(closing_references(body), None) is not None:
        masked = mask(body)
        for reference in closing_references(masked):
            closers[reference.end] = reference
            yield "github", reference.repo, reference.number
    if has_address and next(issue_addresses(body), None) is not None:
        for reference in issue_addresses(mask(body)):
            if reference.end not in closers:
                yield "mentions", reference.repo, reference.number


class _Targets:
    """Looks targets up, and gathers links and the reasons why others are none."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.names = repository_names(corpus)
        self.pairs: dict[tuple[int, int], int] = {}
        self.elsewhere: set[tuple[LinkSource, str, int, str, int]] = set()

    def add(self, source: LinkSource, pr: int, ticket: Ticket, repo: str, number: int) -> None:
        name = self.names.get(repo.lower()) if repo else ticket.repo
        issue, reason = (None, "other_repo") if name is None else self.look_up(name, number)
        if issue is None:
            self.elsewhere.add((source, reason, pr, repo.lower(), number))
        else:
            bit = 1 << LINK_SOURCES.index(source)
            self.pairs[issue, pr] = self.pairs.get((issue, pr), 0) | bit

    def look_up(self, repo: str, number: int) -> tuple[int | None, str]:
        issue = self.corpus.node(repo, "issue", number)
        if issue is not None:
            titled = self.corpus.tickets[issue].title.strip()
            return (issue, "") if titled else (None, "no_title")
        is_pr = self.corpus.node(repo, "pr", number) is not None
        return None, "is_pr" if is_pr else "outside_window"

    def links(self) -> Links:
        counts = Counter(f"{source}.{reason}" for source, reason, *_ in self.elsewhere)
        own = own_repository(self.corpus)
        notes = {f"own_repository.{own[0]}": own[1]} if own else {}
        return make_links(self.pairs, notes | dict(sorted(counts.items())))


def make_links(pairs: dict[tuple[int, int], int], notes: dict[str, int] | None = None) -> Links:
    """Links from {(issue node, PR node): bits of `LINK_SOURCES`}, in their order."""
    order = sorted(pairs)
    issues, prs = _columns(order)
    bits = np.array([pairs[pair] for pair in order], dtype=np.uint8)
    return Links(issues, prs, bits, notes or {})


def _columns(pairs: Iterable[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    array = np.array(list(pairs), dtype=np.int32).reshape(-1, 2)
    return np.ascontiguousarray(array[:, 0]), np.ascontiguousarray(array[:, 1])
