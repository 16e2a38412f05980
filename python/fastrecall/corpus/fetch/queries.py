"""The questions, in GraphQL.

Lists inside a ticket are asked for with a size that nearly always suffices, because what a question
costs grows with them; `complete` asks for the rest of the few that are longer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fastrecall.types import Kind

CONNECTION: Mapping[Kind, str] = {"issue": "issues", "pr": "pullRequests"}
SINGLE: Mapping[Kind, str] = {"issue": "issue", "pr": "pullRequest"}
_TYPE: Mapping[Kind, str] = {"issue": "Issue", "pr": "PullRequest"}

_COMMON = "id number title body createdAt updatedAt closedAt state url author { __typename login }"
_OF_KIND: Mapping[Kind, str] = {
    "issue": "stateReason(enableDuplicate: true)",
    "pr": "mergedAt baseRefName headRefName",
}


@dataclass(frozen=True)
class Nested:
    """A list inside a ticket: how it is called, how many to ask for at first, what of each."""

    name: str
    first: int
    fields: str


_LABELS = Nested("labels", 20, "name")
_CLOSES = Nested("closingIssuesReferences", 10, "number repository { nameWithOwner }")
_COMMENTS = Nested("comments", 50, "body")
_COMMITS = Nested("commits", 50, "commit { message author { name email } }")


@dataclass(frozen=True)
class Wanted:
    """What to bring beside the usual: comments of tickets, commits of PRs."""

    comments: bool = False
    commits: bool = False

    def nested(self, kind: Kind) -> tuple[Nested, ...]:
        """The lists inside a ticket of that kind."""
        lists = [_LABELS]
        if kind == "pr":
            lists.append(_CLOSES)
        if self.comments:
            lists.append(_COMMENTS)
        if self.commits and kind == "pr":
            lists.append(_COMMITS)
        return tuple(lists)

    def fields(self, kind: Kind) -> str:
        """Everything that is asked about one ticket."""
        lists = [
            f"{one.name}(first: {one.first}) {_inside(one.fields)}" for one in self.nested(kind)
        ]
        return " ".join([_COMMON, _OF_KIND[kind], *lists])


def _inside(fields: str) -> str:
    return f"{{ pageInfo {{ hasNextPage endCursor }} nodes {{ {fields} }} }}"


def page_query(kind: Kind, fields: str, order: str) -> str:
    """A page of a repository's issues or PRs, in an order like ``CREATED_AT, direction: ASC``.

    Also asks how many there are of both kinds, which costs nothing.
    """
    other = CONNECTION["issue" if kind == "pr" else "pr"]
    return (
        "query($owner: String!, $name: String!, $first: Int!, $after: String) "
        "{ repository(owner: $owner, name: $name) { nameWithOwner "
        f"other: {other} {{ totalCount }} "
        f"page: {CONNECTION[kind]}(first: $first, after: $after, "
        f"orderBy: {{field: {order}}}) "
        f"{{ totalCount pageInfo {{ hasNextPage endCursor }} nodes {{ {fields} }} }} }} }}"
    )


def numbers_query(kind: Kind, fields: str, numbers: list[int]) -> str:
    """Single tickets by number; those that do not exist come as null."""
    singles = " ".join(f"n{n}: {SINGLE[kind]}(number: {n}) {{ {fields} }}" for n in numbers)
    return (
        "query($owner: String!, $name: String!) "
        f"{{ repository(owner: $owner, name: $name) {{ {singles} }} }}"
    )


def rest_query(kind: Kind, nested: Nested) -> str:
    """More of a list inside one ticket."""
    return (
        "query($id: ID!, $first: Int!, $after: String) { node(id: $id) "
        f"{{ ... on {_TYPE[kind]} {{ "
        f"list: {nested.name}(first: $first, after: $after) {_inside(nested.fields)} }} }} }}"
    )


REPOSITORIES = (
    "query($owner: String!, $first: Int!, $after: String) { repositoryOwner(login: $owner) "
    "{ login repositories(first: $first, after: $after, isFork: false, ownerAffiliations: OWNER, "
    "orderBy: {field: NAME, direction: ASC}) { pageInfo { hasNextPage endCursor } "
    "nodes { nameWithOwner issues { totalCount } pullRequests { totalCount } } } } }"
)
"""The repositories of a user or an organisation, without forks."""
