"""The repositories of a user or an organisation."""

from __future__ import annotations

from typing import NamedTuple

from fastrecall.corpus.fetch.client import GitHub, PageSize, next_cursor, understood
from fastrecall.corpus.fetch.names import check_owner, is_repository
from fastrecall.corpus.fetch.queries import REPOSITORIES
from fastrecall.errors import CorpusError


class Owned(NamedTuple):
    """A repository with the numbers of its tickets."""

    name: str
    issues: int
    prs: int


def list_repositories(owner: str, *, github: GitHub) -> list[Owned]:
    """The repositories of *owner* that the token can see, by name; forks are left out.

    Raises:
        CorpusError: there is no such owner.
        RemoteError: the server refuses or keeps failing.
    """
    size, after = PageSize(), None
    found = []
    while True:
        answer = github.ask(REPOSITORIES, {"owner": check_owner(owner), "after": after}, size)
        known = answer.data.get("repositoryOwner")
        if known is None:
            raise CorpusError(
                f"{owner}: {github.server.host} knows no such user or organisation; check the "
                "spelling"
            )
        with understood(github.server):
            page = known["repositories"]
            for node in page["nodes"]:
                if node and is_repository(node["nameWithOwner"]):
                    issues, prs = node["issues"]["totalCount"], node["pullRequests"]["totalCount"]
                    found.append(Owned(node["nameWithOwner"], int(issues), int(prs)))
            after = next_cursor(page["pageInfo"], after)
        if after is None:
            return found
