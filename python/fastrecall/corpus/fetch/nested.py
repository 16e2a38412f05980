"""Lists inside a ticket that were too long for its page."""

from __future__ import annotations

from typing import Any

from fastrecall.corpus.fetch.client import GitHub, PageSize, next_cursor, understood
from fastrecall.corpus.fetch.queries import Wanted, rest_query
from fastrecall.types import Kind


def complete(github: GitHub, kind: Kind, node: dict[str, Any], wanted: Wanted) -> None:
    """Ask for the rest of every list in a ticket that goes on, and put it in its place.

    Raises:
        RemoteError: the server refuses or keeps failing.
    """
    for nested in wanted.nested(kind):
        have = node.get(nested.name)
        if not isinstance(have, dict):  # not visible to this token
            continue
        query, size = rest_query(kind, nested), PageSize()
        with understood(github.server):
            after = next_cursor(have.pop("pageInfo"), None)
            while after is not None:
                answer = github.ask(query, {"id": node["id"], "after": after}, size)
                more = (answer.data.get("node") or {}).get("list")
                if more is None:  # deleted a moment ago
                    break
                have["nodes"] += more["nodes"]
                after = next_cursor(more["pageInfo"], after)
