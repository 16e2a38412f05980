"""The pages of a repository's issues and PRs, asked for one by one and written down."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from fastrecall import _json
from fastrecall._term import progress
from fastrecall.corpus.fetch.client import (
    LARGEST_PAGE,
    Answer,
    GitHub,
    PageSize,
    github_time,
    next_cursor,
    understood,
)
from fastrecall.corpus.fetch.journal import Journal, Page
from fastrecall.corpus.fetch.nested import complete
from fastrecall.corpus.fetch.queries import Wanted, page_query
from fastrecall.errors import CorpusError, RemoteError
from fastrecall.types import Kind

KINDS: tuple[Kind, ...] = ("issue", "pr")

OLDEST_FIRST = "CREATED_AT, direction: ASC"
NEWEST_FIRST = "CREATED_AT, direction: DESC"
LAST_CHANGED_FIRST = "UPDATED_AT, direction: DESC"

_FIRST_LOOK = 25
"""Items on the first page of changes: most repositories change little between two fetches."""

_WORTH_A_WORD = 1000  # tickets


class MovedError(Exception):
    """The repository answers under another name; raised by the caller's check."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def list_pages(
    github: GitHub,
    name: str,
    journal: Journal,
    wanted: Wanted,
    *,
    say: Callable[[str], None],
    check_name: Callable[[str], None],
) -> str:
    """Ask for every page that the journal does not have yet.

    Args:
        github: the connection to ask through.
        name: ``owner/name`` as the user knows it.
        journal: where pages go; its header says whether all or only changes are wanted.
        wanted: what to bring beside the usual.
        say: tells the user what happens.
        check_name: sees each name that the server has for the repository before a page that bears
            it is written; may raise.

    Returns:
        The present name.

    Raises:
        RemoteError: the server refuses or keeps failing; finished pages stay.
        CorpusError: there is no such repository.
    """
    since = journal.header.since
    present, checked = name, ""
    with contextlib.ExitStack() as stack:
        advance: Callable[[int], None] | None = None
        for kind in KINDS:
            order = OLDEST_FIRST if since is None else LAST_CHANGED_FIRST
            query = page_query(kind, wanted.fields(kind), order)
            size = PageSize(LARGEST_PAGE if since is None else _FIRST_LOOK)
            last = journal.last(kind)
            while last is None or last.more:
                answer, repository = ask_page(github, query, name, last.end if last else None, size)
                with understood(github.server):
                    page = _page(kind, answer, repository, since, last.end if last else None)
                    others = int(repository["other"]["totalCount"])
                if page.repo != checked:
                    check_name(page.repo)
                    checked = page.repo
                if advance is None:
                    total = page.total + others - journal.count
                    if since is None and total >= _WORTH_A_WORD:
                        say(
                            f"{page.repo}: {total:,} issues and PRs to fetch, "
                            f"about {total // LARGEST_PAGE + 1:,} requests"
                        )
                    advance = stack.enter_context(
                        progress(page.repo, total if since is None else 0)
                    )
                for node in page.nodes:
                    complete(github, kind, node, wanted)
                journal.add(page)
                advance(len(page.nodes))
                last = page
            present = last.repo
    return present


def ask_page(
    github: GitHub, query: str, name: str, after: str | None, size: PageSize
) -> tuple[Answer, dict[str, Any]]:
    """Ask a `page_query`: the answer, and the repository in it.

    Raises:
        CorpusError: there is no such repository.
        RemoteError: the server refuses or keeps failing.
    """
    owner, _, short = name.partition("/")
    answer = github.ask(query, {"owner": owner, "name": short, "after": after}, size)
    repository = answer.data.get("repository")
    if isinstance(repository, dict) and isinstance(repository.get("page"), dict):
        return answer, repository
    if answer.errors and "NOT_FOUND" not in answer.error_types:
        raise RemoteError(f"{github.server.host} does not show {name}: {answer.errors[0]}")
    raise CorpusError(
        f"{name}: {github.server.host} knows no such repository, or the token may not see it; "
        "check the spelling and the token's rights"
    )


def _page(
    kind: Kind, answer: Answer, repository: dict[str, Any], since: int | None, after: str | None
) -> Page:
    connection = repository["page"]
    info = connection["pageInfo"]
    more = next_cursor(info, after) is not None
    # What the token may not see comes as null.
    nodes = [node for node in connection["nodes"] if isinstance(node, dict)]
    if since is not None:
        recent = [node for node in nodes if node["updatedAt"] >= github_time(since)]
        more = more and len(recent) == len(nodes)
        nodes = recent
    return _json.as_instance(
        Page,
        {
            "kind": kind,
            "repo": repository["nameWithOwner"],
            "total": connection["totalCount"],
            "end": info["endCursor"],
            "more": more,
            "served_at": answer.served_at,
            "nodes": nodes,
        },
    )
