"""A GitHub on loopback: GraphQL over real HTTP, with its pages, its limits and its bad days.

Every question is checked against the schema beside this file. Lists are sorted and cut as GitHub
does it: cursors name a position by value, so items that move do not shift others.
"""

from __future__ import annotations

import base64
import json
import threading
import time
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from functools import lru_cache
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import graphql
from tests.loopback import serving

TOKEN = "ghp_secret_of_the_test"
DAY = 86_400
START = 1_700_000_000

Ticket = dict[str, Any]
Reply = tuple[int, Mapping[str, str], bytes]
Trouble = Callable[["FakeGitHub", dict[str, Any]], "Reply | str | None"]
"""What goes wrong with one request: a reply, "abort" (a body that breaks off), or None: nothing."""

_SCHEMA = graphql.build_schema(
    (Path(__file__).parent / "schema.graphql").read_text(encoding="utf-8")
)


def stamp(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


@dataclass
class Repo:
    """A repository: tickets by number, issues and PRs in one sequence."""

    name: str
    tickets: dict[int, Ticket] = field(default_factory=dict)
    former_names: tuple[str, ...] = ()
    hidden_issues: int = 0  # counted, never listed
    touches: int = 0
    _sorted: dict[tuple[str, str], tuple[object, list[str], list[Ticket]]] = field(
        default_factory=dict
    )

    def add(self, kind: str, *, at: int = 0, **more: Any) -> Ticket:
        number = max(self.tickets, default=0) + 1
        created = at or START + 60 * number
        path = "issues" if kind == "issue" else "pull"
        ticket: Ticket = {
            "__typename": "Issue" if kind == "issue" else "PullRequest",
            "id": f"{self.name}#{number}",
            "number": number,
            "title": f"Ticket {number}",
            "body": f"What {number} is about",
            "createdAt": stamp(created),
            "updatedAt": stamp(created),
            "closedAt": None,
            "state": "OPEN",
            "url": f"https://github.com/{self.name}/{path}/{number}",
            "author": {"__typename": "User", "login": f"user-{number % 7}"},
            "labels": [],
            "comments": [],
        }
        if kind == "issue":
            ticket["stateReason"] = None
        else:
            ticket |= {
                "mergedAt": None,
                "baseRefName": "main",
                "headRefName": f"topic-{number}",
                "closingIssuesReferences": [],
                "commits": [],
            }
        self.tickets[number] = ticket | more
        return self.tickets[number]

    def touch(self, number: int, *, at: int, **changes: Any) -> None:
        self.tickets[number] |= {"updatedAt": stamp(at), **changes}
        self.touches += 1

    def ordered(self, typename: str, by: str) -> tuple[list[str], list[Ticket]]:
        """The tickets of a kind in ascending order, and their keys; sorted again when needed."""
        state = len(self.tickets), max(self.tickets, default=0), self.touches
        found = self._sorted.get((typename, by))
        if found is None or found[0] != state:
            tickets = sorted(self.of(typename), key=lambda one: _key(one, by))
            found = state, [_key(one, by) for one in tickets], tickets
            self._sorted[typename, by] = found
        return found[1], found[2]

    def of(self, typename: str) -> list[Ticket]:
        return [ticket for ticket in self.tickets.values() if ticket["__typename"] == typename]


def _key(ticket: Ticket, by: str) -> str:
    return f"{ticket[by]} {ticket['number']:09}"


@dataclass
class FakeGitHub:
    url: str
    repos: list[Repo] = field(default_factory=list)
    troubles: deque[Trouble] = field(default_factory=deque)
    now: int = START + 365 * DAY
    requests: list[dict[str, Any]] = field(default_factory=list)
    served_nodes: list[str] = field(default_factory=list)
    busiest: int = 0
    largest_possible_page: int = 100
    delay: float = 0.0
    _busy: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def api_url(self) -> str:
        return f"{self.url}/api/v3"

    def find(self, name: str) -> Repo | None:
        for repo in self.repos:
            if name.lower() in (known.lower() for known in (repo.name, *repo.former_names)):
                return repo
        return None

    @contextmanager
    def working(self) -> Iterator[None]:
        with self._lock:
            self._busy += 1
            self.busiest = max(self.busiest, self._busy)
        try:
            yield
        finally:
            with self._lock:
                self._busy -= 1

    def answer(self, body: dict[str, Any], token: str) -> Reply | str:
        self.requests.append(body)
        time.sleep(self.delay)
        if token != f"Bearer {TOKEN}":
            return 401, {}, b'{"message": "Bad credentials"}'
        if self.troubles and (trouble := self.troubles.popleft()(self, body)) is not None:
            return trouble
        if (body["variables"].get("first") or 0) > self.largest_possible_page:
            return 502, {}, b"<html>502</html>"
        document, errors = _parsed(body["query"])
        if errors:
            return 200, {}, json.dumps({"errors": [{"message": text} for text in errors]}).encode()
        run = _Run(self, body["variables"])
        data = run.selection(document.definitions[0].selection_set, "Query", {})
        reply: dict[str, Any] = {"data": data}
        if run.errors:
            reply["errors"] = run.errors
        return 200, {}, json.dumps(reply).encode()


@lru_cache(maxsize=1000)
def _parsed(query: str) -> tuple[Any, tuple[str, ...]]:
    document = graphql.parse(query)
    return document, tuple(error.message for error in graphql.validate(_SCHEMA, document))


class _Run:
    """Answers one question."""

    def __init__(self, github: FakeGitHub, variables: dict[str, Any]) -> None:
        self.github = github
        self.variables = variables
        self.errors: list[dict[str, Any]] = []

    def selection(self, chosen: Any, typename: str, value: dict[str, Any]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for node in chosen.selections:
            if node.kind == "inline_fragment":
                if node.type_condition.name.value == typename:
                    result |= self.selection(node.selection_set, typename, value)
                continue
            name = node.name.value
            given = {a.name.value: self.literal(a.value) for a in node.arguments or ()}
            found = self.resolve(name, typename, value, given)
            if node.selection_set is not None:
                found = self.nested(node.selection_set, found)
            result[node.alias.value if node.alias else name] = found
        return result

    def nested(self, chosen: Any, found: Any) -> Any:
        if isinstance(found, list):
            return [self.nested(chosen, one) for one in found]
        if found is None:
            return None
        return self.selection(chosen, found.get("__typename", ""), found)

    def literal(self, node: Any) -> Any:
        if node.kind == "variable":
            return self.variables.get(node.name.value)
        if node.kind == "object_value":
            return {one.name.value: self.literal(one.value) for one in node.fields}
        return int(node.value) if node.kind == "int_value" else node.value

    def resolve(self, name: str, typename: str, value: Any, given: dict[str, Any]) -> Any:
        if typename == "Query":
            return self.root(name, given)
        if typename == "Repository":
            return self.of_repository(name, value["repo"], given)
        if name == "repositories":
            repos = sorted(value["repos"], key=lambda one: one["nameWithOwner"])
            return _connection([one["nameWithOwner"] for one in repos], repos, given)
        if name in ("labels", "comments", "commits", "closingIssuesReferences"):
            items = value[name]
            if items is None:
                return None
            return _connection([f"{place:06}" for place in range(len(items))], items, given)
        return value[name]

    def root(self, name: str, given: dict[str, Any]) -> Any:
        if name == "repositoryOwner":
            owner = given["login"].lower()
            own = [r for r in self.github.repos if r.name.lower().startswith(f"{owner}/")]
            values = [_repository(repo) for repo in own]
            return {"__typename": "Organization", "login": owner, "repos": values} if own else None
        if name == "node":
            repo_name, _, number = given["id"].partition("#")
            repo = self.github.find(repo_name)
            return repo and repo.tickets.get(int(number))
        repo = self.github.find(f"{given['owner']}/{given['name']}")
        if repo is None:
            self.errors.append(
                {"type": "NOT_FOUND", "message": "Could not resolve to a Repository"}
            )
            return None
        return _repository(repo)

    def of_repository(self, name: str, repo: Repo, given: dict[str, Any]) -> Any:
        if name == "nameWithOwner":
            return repo.name
        typename = "Issue" if name.startswith("issue") else "PullRequest"
        if name in ("issue", "pullRequest"):
            ticket = repo.tickets.get(given["number"])
            if ticket is None or ticket["__typename"] != typename:
                self.errors.append({"type": "NOT_FOUND", "message": "Could not resolve to it"})
                return None
            return ticket
        order = given.get("orderBy") or {"field": "CREATED_AT", "direction": "ASC"}
        by = {"CREATED_AT": "createdAt", "UPDATED_AT": "updatedAt"}[order["field"]]
        keys, tickets = repo.ordered(typename, by)
        if "first" not in given:
            return {"totalCount": len(tickets)}
        found = _connection(keys, tickets, given, backwards=order["direction"] == "DESC")
        if typename == "Issue":
            found["totalCount"] += repo.hidden_issues
        self.github.served_nodes += [one["id"] for one in found["nodes"]]
        return found


def _repository(repo: Repo) -> dict[str, Any]:
    return {"__typename": "Repository", "repo": repo, "nameWithOwner": repo.name}


def _connection(
    keys: list[str],
    items: list[dict[str, Any]],
    given: dict[str, Any],
    *,
    backwards: bool = False,
) -> dict[str, Any]:
    """A page of items in the order of their ascending keys, or backwards."""
    assert 1 <= given["first"] <= 100
    behind = base64.b64decode(given["after"]).decode() if given.get("after") else None
    if backwards:
        stop = len(items) if behind is None else bisect_left(keys, behind)
        places = range(stop - 1, max(-1, stop - 1 - given["first"]), -1)
        more = stop > given["first"]
    else:
        start = 0 if behind is None else bisect_right(keys, behind)
        places = range(start, min(len(items), start + given["first"]))
        more = len(items) - start > given["first"]
    end = base64.b64encode(keys[places[-1]].encode()).decode() if places else None
    return {
        "totalCount": len(items),
        "pageInfo": {"hasNextPage": more, "endCursor": end},
        "nodes": [items[place] for place in places],
    }


# Troubles.


def reply(status: int, text: str = "{}", **headers: object) -> Trouble:
    """A reply with this status; header names are written with underscores."""
    named = {name.replace("_", "-"): str(value) for name, value in headers.items()}
    return lambda _github, _body: (status, named, text.encode())


def fine(_github: FakeGitHub, _body: dict[str, Any]) -> None:
    """Nothing goes wrong."""


def abort(_github: FakeGitHub, _body: dict[str, Any]) -> str:
    """The body breaks off in the middle."""
    return "abort"


@contextmanager
def fake_github(*repos: Repo) -> Iterator[FakeGitHub]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            body = json.loads(self.rfile.read(length))
            assert self.path == "/api/graphql"
            with state.working():
                self._send(state.answer(body, self.headers.get("Authorization", "")))

        def _send(self, answer: Reply | str) -> None:
            try:
                if isinstance(answer, str):
                    self.close_connection = True
                    answer = 200, {"Content-Length": "100000"}, b'{"data": {"repository": '
                status, headers, content = answer
                self.send_response_only(status)
                self.send_header("Date", formatdate(state.now, usegmt=True))
                for name, value in {"Content-Length": str(len(content)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)
            except OSError:  # the client is gone, as a killed one is
                self.close_connection = True

        def log_message(self, *_args: object) -> None:
            pass

    with serving(Handler) as url:
        state = FakeGitHub(url, list(repos))
        yield state


def sample(name: str = "demo/lattice", *, issues: int = 30, prs: int = 70) -> Repo:
    """A repository with everything that a ticket can carry."""
    repo = Repo(name)
    for number in range(1, issues + prs + 1):
        # Bresenham: issues spread evenly among the PRs.
        is_issue = number * issues // (issues + prs) > (number - 1) * issues // (issues + prs)
        ticket = repo.add("issue" if is_issue else "pr")
        if number % 5 == 0:
            ticket["labels"] = [{"name": "bug"}, {"name": f"area/{number % 3}"}]
        if number % 11 == 0:
            ticket["author"] = {"__typename": "Bot", "login": "renovate"}
        if number % 13 == 0:
            ticket["author"] = None
        if number % 17 == 0:
            ticket["body"] = "Ümläut, кириллица, 🤖\r\nand a lone \ud800 surrogate"
        if not is_issue and number % 3 == 0:
            ticket |= {"state": "MERGED", "mergedAt": stamp(START + 60 * number + 30)}
            ticket["closingIssuesReferences"] = [
                {"number": 1, "repository": {"nameWithOwner": name}, "__typename": "Issue"}
            ]
    return repo
