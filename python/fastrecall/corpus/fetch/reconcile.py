"""Tickets that were deleted or moved away, or that came with an old date.

No list of changes shows a ticket that is gone, and one that was transferred here may keep the dates
it had elsewhere. Both show in the count. If ours differs from the server's, the numbers alone are
listed, newest first (what gets deleted is mostly young), until the difference is explained.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fastrecall.corpus.fetch.client import GitHub, PageSize, next_cursor, understood
from fastrecall.corpus.fetch.nested import complete
from fastrecall.corpus.fetch.pages import NEWEST_FIRST, ask_page
from fastrecall.corpus.fetch.queries import Wanted, numbers_query, page_query
from fastrecall.types import Kind

_AT_ONCE = 50
"""Single tickets in one question."""


@dataclass
class Difference:
    """What the server has and we do not, and the other way round.

    ``unlisted`` tickets are counted by the server and never listed (those of hidden accounts).
    """

    gone: set[int] = field(default_factory=set)
    new: list[dict[str, Any]] = field(default_factory=list)
    unlisted: int = 0


def reconcile(
    github: GitHub,
    name: str,
    kind: Kind,
    *,
    known: Mapping[int, str],
    total: int,
    unlisted: int,
    wanted: Wanted,
) -> Difference:
    """Explain why the server counts *total* tickets of a kind.

    Args:
        github: the connection to ask through.
        name: the repository.
        kind: issues or PRs.
        known: the creation time of every ticket that we have, as GitHub writes it, by number.
        total: what the server counts.
        unlisted: how many of those it did not list when that was looked at last.
        wanted: what to bring of tickets that we do not have.

    Raises:
        RemoteError: the server refuses or keeps failing.
    """
    if total - unlisted == len(known):
        return Difference(unlisted=unlisted)
    query = page_query(kind, "number createdAt", NEWEST_FIRST)
    size = PageSize()
    gone: set[int] = set()
    new: list[int] = []
    waiting = sorted(known, key=lambda number: (known[number], number))
    listed: set[int] = set()
    after = None
    while True:
        _, repository = ask_page(github, query, name, after, size)
        with understood(github.server):
            connection = repository["page"]
            nodes = [node for node in connection["nodes"] if node]
            listed |= {int(node["number"]) for node in nodes}
            new += [int(node["number"]) for node in nodes if node["number"] not in known]
            after = next_cursor(connection["pageInfo"], after)
            # Everything younger than the last one listed should have been listed by now.
            reached = str(nodes[-1]["createdAt"]) if after is not None and nodes else ""
            total = int(connection["totalCount"])
        while waiting and known[waiting[-1]] > reached:
            number = waiting.pop()
            if number not in listed:
                gone.add(number)
        if after is None:
            unlisted = total - len(listed)
            break
        if len(new) - len(gone) == total - unlisted - len(known):
            break
    return Difference(gone, _single(github, name, kind, new, wanted), max(0, unlisted))


def _single(
    github: GitHub, name: str, kind: Kind, numbers: list[int], wanted: Wanted
) -> list[dict[str, Any]]:
    owner, _, short = name.partition("/")
    nodes = []
    for start in range(0, len(numbers), _AT_ONCE):
        query = numbers_query(kind, wanted.fields(kind), numbers[start : start + _AT_ONCE])
        repository = github.ask(query, {"owner": owner, "name": short}).data.get("repository")
        with understood(github.server):
            nodes += [node for node in (repository or {}).values() if isinstance(node, dict)]
    for node in nodes:
        complete(github, kind, node, wanted)
    return nodes
