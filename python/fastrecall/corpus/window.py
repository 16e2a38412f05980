"""The window: which of the tickets that were read become the corpus (docs/links.md)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from fastrecall.corpus._records import BadField, bare_login
from fastrecall.errors import InputError
from fastrecall.types import Kind, Ticket, WindowCut

AUTHOR_FILTER = r"^(ydbot|app/github-actions|app/dependabot|app/renovate)$"
"""The published pattern of mechanical PR authors."""

WINDOW_PRS = 11_000
WINDOW_ISSUES = 8_000

_SPARE = 1_000
"""Tickets held beyond the window, in case some that are in it turn out to be PRs listed as issues.
Twice as many may come before the rest is cut: sorting now and then is cheaper than keeping order,
and memory stays bounded."""


def author_matcher(pattern: str | None) -> Callable[[str], bool]:
    """A test for the accounts that a pattern names, in any spelling.

    ``app/x``, ``x[bot]`` and bare ``x`` are one account: it matches when any of the three does.
    An unknown author ("") never matches. *pattern* None or "" matches nobody.

    Raises:
        InputError: the pattern is not a regular expression.

    >>> mechanical = author_matcher(AUTHOR_FILTER)
    >>> [mechanical(name) for name in ("renovate[bot]", "dependabot", "app/ydbot", "renovator")]
    [True, True, True, False]
    """
    try:
        search = re.compile(pattern or r"(?!)").search
    except (re.error, OverflowError, RecursionError) as error:
        raise InputError(
            f"the author filter {pattern!r} is not a regular expression: {error}; "
            f"expected a pattern like {AUTHOR_FILTER}"
        ) from error
    known: dict[str, bool] = {"": False}

    def matches(author: str) -> bool:
        answer = known.get(author)
        if answer is None:
            name = bare_login(author)
            answer = name != "" and any(map(search, (name, f"app/{name}", f"{name}[bot]")))
            known[author] = answer
        return answer

    return matches


class Window:
    """Takes tickets one by one, in any order, and holds only those that can still be kept.

    The newest ``prs`` PRs and ``issues`` issues stay, over all repositories together (newest by
    creation; ties: higher number, then repository name); PRs of matching authors go first. None
    means no limit. PRs should be added before issues: then a PR that is listed among the issues
    too is known for what it is.
    """

    def __init__(
        self,
        *,
        prs: int | None = WINDOW_PRS,
        issues: int | None = WINDOW_ISSUES,
        author_filter: str | None = AUTHOR_FILTER,
    ) -> None:
        for name, limit in (("window_prs", prs), ("window_issues", issues)):
            if limit is not None and limit < 0:
                raise InputError(f"{name} is {limit}; expected a number of tickets, or None")
        self._limits: dict[Kind, int | None] = {"pr": prs, "issue": issues}
        self._mechanical = author_matcher(author_filter)
        self._seen: dict[Kind, dict[tuple[str, int], tuple[int, int]]] = {"pr": {}, "issue": {}}
        self._kept: dict[Kind, dict[tuple[str, int], Ticket]] = {"pr": {}, "issue": {}}
        self._dropped_authors = 0
        self._repeated = 0
        self._differing = 0
        self._listed_twice = 0

    def add(self, ticket: Ticket, updated_at: int = -1) -> None:
        """Take one ticket. Of a repeated number the newest ``updated_at`` stays, else the last.

        Raises:
            BadField: the number was there before with another creation time, which happens only
                when repositories were mixed.
        """
        kind = ticket.kind
        key = (ticket.repo, ticket.number)
        before = self._seen[kind].get(key)
        if before is not None:
            self._add_again(ticket, updated_at, before)
            return
        other: Kind = "issue" if kind == "pr" else "pr"
        twin = self._seen[other].get(key)
        if twin is not None and twin[0] == ticket.created_at:
            # GitHub's list of issues contains the PRs as well.
            self._listed_twice += 1
            if kind == "issue":
                return
            del self._seen[other][key]
            self._kept[other].pop(key, None)
        self._seen[kind][key] = (ticket.created_at, updated_at)
        if kind == "pr" and self._mechanical(ticket.author):
            self._dropped_authors += 1
            return
        kept = self._kept[kind]
        kept[key] = ticket
        limit = self._limits[kind]
        if limit is not None and len(kept) > limit + 2 * _SPARE:
            self._kept[kind] = _newest(kept, limit + _SPARE)

    def _add_again(self, ticket: Ticket, updated_at: int, before: tuple[int, int]) -> None:
        key = (ticket.repo, ticket.number)
        if before[0] != ticket.created_at:
            raise BadField(
                f"number {ticket.number} was there before with another createdAt, so two "
                "repositories are mixed; give each record a field repo ('owner/name')"
            )
        self._repeated += 1
        kept = self._kept[ticket.kind]
        old = kept.get(key)
        if old is not None and old != ticket:
            self._differing += 1
            if updated_at >= before[1]:
                kept[key] = ticket
                self._seen[ticket.kind][key] = (ticket.created_at, updated_at)

    def close(self) -> tuple[list[Ticket], WindowCut, tuple[str, ...]]:
        """The kept tickets (in no special order), what was cut, and what a reader must know."""
        issues = list(_newest(self._kept["issue"], self._limits["issue"]).values())
        prs = list(_newest(self._kept["pr"], self._limits["pr"]).values())
        read_issues, read_prs = len(self._seen["issue"]), len(self._seen["pr"])
        cut = WindowCut(
            read_issues=read_issues,
            read_prs=read_prs,
            kept_issues=len(issues),
            kept_prs=len(prs),
            dropped_authors=self._dropped_authors,
            beyond_issues=read_issues - len(issues),
            beyond_prs=read_prs - self._dropped_authors - len(prs),
        )
        return self._one_repository(issues + prs), cut, tuple(self._notes())

    def _one_repository(self, tickets: list[Ticket]) -> list[Ticket]:
        """If some tickets name one repository and others none, all are of that one."""
        names = {ticket.repo for ticket in tickets}
        if len(names) != 2 or "" not in names:
            return tickets
        name = max(names)
        if any((name, t.number) in self._seen[t.kind] for t in tickets if not t.repo):
            return tickets
        return [t if t.repo else replace(t, repo=name) for t in tickets]

    def _notes(self) -> list[str]:
        notes = []
        if self._repeated:
            notes.append(
                f"{self._repeated} records repeat a number that was there before"
                + (
                    f" and {self._differing} of them differ: the newest updatedAt was kept, "
                    "or the last where that is not said"
                    if self._differing
                    else "; one of each was kept"
                )
            )
        if self._listed_twice:
            notes.append(
                f"{self._listed_twice} PRs are listed among the issues too; they count as PRs"
            )
        both = self._seen["pr"].keys() & self._seen["issue"].keys()
        if both:
            repo, number = min(both)
            notes.append(
                f"{len(both)} numbers belong to an issue and to a PR (the first is "
                f"{repo}#{number}), which GitHub never does: are these files of one repository? "
                "#N is read as the issue"
            )
        return notes


def _newest(
    tickets: dict[tuple[str, int], Ticket], limit: int | None
) -> dict[tuple[str, int], Ticket]:
    if limit is None or len(tickets) <= limit:
        return tickets
    order = sorted(tickets.items(), key=lambda item: item[0])
    order.sort(key=lambda item: (item[1].created_at, item[1].number), reverse=True)
    return dict(order[:limit])
