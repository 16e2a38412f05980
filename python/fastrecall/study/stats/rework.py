"""Work that returns: reverts, what they bring back, and the gaps between repetitions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

from fastrecall.corpus.history import find_reverts
from fastrecall.types import Corpus, Kind, Links, Ticket

DAY = 86_400

_AGAIN = re.compile(r'(?:reapply|reland|re-land|redo|restore)\b:?\s*["“]?(.*?)["”]?', re.DOTALL)
_REVERTED_TWICE = re.compile(r'revert\s+["“]revert\s+["“](.*)["”]["”]', re.DOTALL)


@dataclass(frozen=True)
class Reverts:
    """PR nodes that revert; (revert, reverted) where that is known; (revert, what came back)."""

    nodes: list[int]
    pairs: list[tuple[int, int]]
    back: list[tuple[int, int]]


def reverts_of(corpus: Corpus) -> Reverts:
    """The reverts of a corpus, and the PRs that bring back what was reverted.

    A PR brings back when it is younger than the revert and has the reverted title again: bare,
    behind a word like "Reapply", or as a revert of the revert.
    """
    found = find_reverts(corpus)
    pairs = [(one.revert, one.reverted) for one in found if one.reverted >= 0]
    titles = {node: _title_of(ticket) for node, ticket in corpus.read(pr for _, pr in pairs)}
    titled: dict[tuple[str, str], list[int]] = {title: [] for title in titles.values()}
    if titled:
        for node, ticket in enumerate(corpus.tickets):
            if ticket.kind == "pr" and (same := titled.get(_title_of(ticket))) is not None:
                same.append(node)
    times = corpus.created_at
    back = []
    for revert, reverted in pairs:
        again = [node for node in titled[titles[reverted]] if times[node] > times[revert]]
        if again:
            back.append((revert, min(again, key=lambda node: (times[node], node))))
    return Reverts([one.revert for one in found], pairs, back)


def _title_of(ticket: Ticket) -> tuple[str, str]:
    return ticket.repo, _without_again(ticket.title)


def _without_again(title: str) -> str:
    """A title as it was before it came back.

    >>> _without_again('Reapply "Add it"'), _without_again('Revert "Revert "Add it""')
    ('add it', 'add it')
    """
    folded = " ".join(title.casefold().split())
    match = _REVERTED_TWICE.fullmatch(folded) or _AGAIN.fullmatch(folded)
    return match[1] if match and match[1] else folded


def titled(corpus: Corpus, words: Iterable[str]) -> dict[tuple[str, Kind], list[int]]:
    """The tickets with a word in the title, in any case, by word and kind."""
    found: dict[tuple[str, Kind], list[int]] = {
        (word, kind): [] for word in words for kind in ("issue", "pr")
    }
    for node, ticket in enumerate(corpus.tickets):
        title = ticket.title.lower()
        for (word, kind), nodes in found.items():
            if ticket.kind == kind and word in title:
                nodes.append(node)
    return found


def days_between(corpus: Corpus, pairs: Iterable[tuple[int, int]]) -> list[float]:
    """How many days lie between the creation of the tickets of each pair."""
    times = corpus.created_at
    return [abs(int(times[a]) - int(times[b])) / DAY for a, b in pairs]


def gaps(corpus: Corpus, groups: Iterable[Sequence[int]]) -> list[float]:
    """Days from each ticket of a group to the next one of it."""
    found = []
    for group in groups:
        times = sorted(corpus.created_at[list(group)].tolist())
        found += [(b - a) / DAY for a, b in pairwise(times)]
    return found


def median_days(days: Sequence[float]) -> float | None:
    """The middle one, to a hundredth of a day; None when there is none."""
    return round(median(days), 2) if days else None


def shared_links(links: Links) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Issues that several PRs close, with those; PRs that close several issues, with those."""
    by_issue: dict[int, list[int]] = {}
    by_pr: dict[int, list[int]] = {}
    for issue, pr in zip(links.issues.tolist(), links.prs.tolist(), strict=True):
        by_issue.setdefault(issue, []).append(pr)
        by_pr.setdefault(pr, []).append(issue)
    return _several(by_issue), _several(by_pr)


def _several(groups: dict[int, list[int]]) -> dict[int, list[int]]:
    return {one: others for one, others in sorted(groups.items()) if len(others) > 1}


def group_block(corpus: Corpus, groups: list[tuple[int, ...]], top: int) -> dict[str, Any]:
    """Groups of two and more in numbers, with the largest ones by name."""
    several = [group for group in groups if len(group) > 1]
    several.sort(key=lambda group: (-len(group), group))
    sizes: dict[str, int] = {}
    for group in reversed(several):
        sizes[str(len(group))] = sizes.get(str(len(group)), 0) + 1
    return {
        "groups": len(several),
        "tickets": sum(map(len, several)),
        "sizes": sizes,
        "median_days_between": median_days(gaps(corpus, several)),
        "top": [_named_group(corpus, group) for group in several[:top]],
    }


def _named_group(corpus: Corpus, group: tuple[int, ...]) -> dict[str, Any]:
    columns, times = corpus.columns, corpus.created_at
    first, *_, last = sorted(group, key=lambda node: (times[node], columns.name(node)[2]))
    return {
        "title": corpus.tickets[first].title,
        "size": len(group),
        "first": columns.ref(first),
        "last": columns.ref(last),
        "days": round((int(times[last]) - int(times[first])) / DAY, 1),
        "median_days_between": median_days(gaps(corpus, [group])),
    }
