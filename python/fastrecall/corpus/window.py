"""The window: which of the tickets that were read become the corpus (docs/links.md)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

from fastrecall.corpus._records import BadField, bare_login
from fastrecall.errors import InputError
from fastrecall.types import Kind, Ticket, WindowCut

AUTHOR_FILTER = r"^(ydbot|app/github-actions|app/dependabot|app/renovate)$"
"""The published pattern of mechanical PR authors."""

WINDOW_PRS = 11_000
WINDOW_ISSUES = 8_000

SPARE = 1_000
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

    @lru_cache(maxsize=1 << 16)
    def matches(author: str) -> bool:
        name = bare_login(author)
        return name != "" and any(map(search, (name, f"app/{name}", f"{name}[bot]")))

    return matches


@dataclass
class Tally:
    """What is counted while a window is filled; ``both`` numbers belong to an issue and a PR."""

    issues: int = 0
    prs: int = 0
    dropped_authors: int = 0
    repeated: int = 0
    differing: int = 0
    listed_twice: int = 0
    both: int = 0
    first_both: tuple[str, int] | None = None

    def cut(self, kept_issues: int, kept_prs: int) -> WindowCut:
        """The counts of a window that kept so many."""
        return WindowCut(
            read_issues=self.issues,
            read_prs=self.prs,
            kept_issues=kept_issues,
            kept_prs=kept_prs,
            dropped_authors=self.dropped_authors,
            beyond_issues=self.issues - kept_issues,
            beyond_prs=self.prs - self.dropped_authors - kept_prs,
        )

    def notes(self) -> list[str]:
        """What a reader must know of the records."""
        notes = []
        if self.repeated:
            notes.append(
                f"{self.repeated} records repeat a number that was there before"
                + (
                    f" and {self.differing} of them differ: the newest updatedAt was kept, "
                    "or the last where that is not said"
                    if self.differing
                    else "; one of each was kept"
                )
            )
        if self.listed_twice:
            notes.append(
                f"{self.listed_twice} PRs are listed among the issues too; they count as PRs"
            )
        if self.first_both is not None:
            repo, number = self.first_both
            notes.append(
                f"{self.both} numbers belong to an issue and to a PR (the first is "
                f"{repo}#{number}), which GitHub never does: are these files of one repository? "
                "#N is read as the issue"
            )
        return notes


def other_time(number: int) -> BadField:
    """The error for a number that was there before with another creation time."""
    return BadField(
        f"number {number} was there before with another createdAt, so two "
        "repositories are mixed; give each record a field repo ('owner/name')"
    )


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
        self._tally = Tally()

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
            self._tally.listed_twice += 1
            if kind == "issue":
                return
            del self._seen[other][key]
            self._kept[other].pop(key, None)
        self._seen[kind][key] = (ticket.created_at, updated_at)
        if kind == "pr" and self._mechanical(ticket.author):
            self._tally.dropped_authors += 1
            return
        kept = self._kept[kind]
        kept[key] = ticket
        limit = self._limits[kind]
        if limit is not None and len(kept) > limit + 2 * SPARE:
            self._kept[kind] = _newest(kept, limit + SPARE)

    def _add_again(self, ticket: Ticket, updated_at: int, before: tuple[int, int]) -> None:
        key = (ticket.repo, ticket.number)
        if before[0] != ticket.created_at:
            raise other_time(ticket.number)
        self._tally.repeated += 1
        kept = self._kept[ticket.kind]
        old = kept.get(key)
        if old is None:
            return
        self._tally.differing += old != ticket
        if updated_at >= before[1]:
            kept[key] = ticket
            self._seen[ticket.kind][key] = (ticket.created_at, updated_at)

    def close(self) -> tuple[list[Ticket], WindowCut, tuple[str, ...]]:
        """The kept tickets (in no special order), what was cut, and what a reader must know."""
        issues = list(_newest(self._kept["issue"], self._limits["issue"]).values())
        prs = list(_newest(self._kept["pr"], self._limits["pr"]).values())
        tally = self._tally
        tally.issues, tally.prs = len(self._seen["issue"]), len(self._seen["pr"])
        both = self._seen["pr"].keys() & self._seen["issue"].keys()
        tally.both, tally.first_both = len(both), min(both, default=None)
        tickets = self._one_repository(issues + prs)
        return tickets, tally.cut(len(issues), len(prs)), tuple(tally.notes())

    def _one_repository(self, tickets: list[Ticket]) -> list[Ticket]:
        """If some tickets name one repository and others none, all are of that one."""
        names = {ticket.repo for ticket in tickets}
        if len(names) != 2 or "" not in names:
            return tickets
        name = max(names)
        if any((name, t.number) in self._seen[t.kind] for t in tickets if not t.repo):
            return tickets
        return [t if t.repo else replace(t, repo=name) for t in tickets]


def _newest(
    tickets: dict[tuple[str, int], Ticket], limit: int | None
) -> dict[tuple[str, int], Ticket]:
    if limit is None or len(tickets) <= limit:
        return tickets
    order = sorted(tickets.items(), key=lambda item: item[0])
    order.sort(key=lambda item: (item[1].created_at, item[1].number), reverse=True)
    return dict(order[:limit])
