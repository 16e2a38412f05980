"""One repository, fetched whole or brought up to date.

The first fetch lists tickets by creation, oldest first: no ticket ever changes its place in that
order, so a cursor stays good however long the fetch rests. Later fetches list them by last change,
newest first, down to where the fetch before began (a little earlier, because the clocks and copies
of a server differ). Whatever changes while a fetch runs is younger than its beginning, and the next
fetch brings it. docs/fetch.md says more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from fastrecall._term import note
from fastrecall.corpus._records import BadField, RecordReader
from fastrecall.corpus.fetch.client import GitHub, github_time
from fastrecall.corpus.fetch.journal import Header, Journal, open_journal
from fastrecall.corpus.fetch.names import check_repository, is_repository
from fastrecall.corpus.fetch.pages import KINDS, MovedError, list_pages
from fastrecall.corpus.fetch.queries import Wanted
from fastrecall.corpus.fetch.reconcile import reconcile
from fastrecall.corpus.fetch.store import JOURNAL, Manifest, Store, renamed
from fastrecall.errors import RemoteError
from fastrecall.types import Kind, Ticket

OVERLAP = 120
"""Seconds before the beginning of the last fetch that are looked at again."""

Key = tuple[Kind, int]


@dataclass(frozen=True)
class Fetched:
    """What a fetch brought: the stored state, and how it came about.

    ``requests`` were made by this call; ``changed`` tickets are new or say something new,
    ``removed`` ones are no longer in the repository.
    """

    manifest: Manifest
    store: Store
    requests: int
    changed: int
    removed: int


def fetch_repository(
    name: str,
    *,
    github: GitHub,
    wanted: Wanted | None = None,
    say: Callable[[str], None] = note,
) -> Fetched:
    """Bring a repository's tickets into the data folder, or bring them up to date.

    Args:
        name: ``owner/name``; an old name of a renamed repository will do.
        github: the connection to ask through; one request is in flight at a time.
        wanted: what to bring beside the usual; when that is more than what is stored, everything
            is fetched again. What was brought once stays wanted.
        say: tells the user what happens.

    Raises:
        RemoteError: GitHub refuses or keeps failing; finished pages stay.
        CacheError: the data folder cannot be written, or another process fetches the same.
        CorpusError: what is stored is damaged, or there is no such repository.
    """
    name = check_repository(name)
    requests = github.requests
    store = Store.of(github.server.host, name)
    name = store.moved_to() or name
    try:
        return _fetch(name, github, wanted or Wanted(), requests, say)
    except MovedError as moved:
        say(f"{name} is called {moved.name} now")
        store.move_to(moved.name)
        return _fetch(moved.name, github, wanted or Wanted(), requests, say)


def _fetch(
    name: str, github: GitHub, wanted: Wanted, requests: int, say: Callable[[str], None]
) -> Fetched:
    store = Store.of(github.server.host, name)
    with store.lock():
        before = store.manifest()
        if before:
            wanted = Wanted(wanted.comments or before.comments, wanted.commits or before.commits)
        header = Header(
            since=_since(before, wanted),
            comments=wanted.comments,
            commits=wanted.commits,
            base=before.sha256 if before else "",
        )
        with open_journal(store.folder / JOURNAL, header) as journal:
            if journal.first_served_at >= 0:
                say(
                    f"{name}: going on with the fetch of {github_time(journal.first_served_at)}; "
                    "what changed since comes with the next one"
                )

            def check_name(present: str) -> None:
                _check_name(present, name, before, github.server.host)

            present = list_pages(github, name, journal, wanted, say=say, check_name=check_name)
            done = _store(store, journal, before, present, github, wanted, requests)
            journal.remove()
        if present.lower() != name.lower():
            say(f"{name} is called {present} now")
            store.move_to(present)
    return done


def _since(before: Manifest | None, wanted: Wanted) -> int | None:
    """From when on changes are needed; None: everything is."""
    if before is None or before.cursor is None:
        return None
    if (before.comments, before.commits) != (wanted.comments, wanted.commits):
        return None
    return before.cursor - OVERLAP


def _check_name(present: str, name: str, before: Manifest | None, host: str) -> None:
    if not is_repository(present):
        raise RemoteError(f"{name}: {host} calls it {present!r}, which is no name of a repository")
    if present.lower() != name.lower() and not before and Store.of(host, present).manifest():
        # Everything is there under the present name: bring that up to date instead.
        raise MovedError(present)


def _store(
    store: Store,
    journal: Journal,
    before: Manifest | None,
    present: str,
    github: GitHub,
    wanted: Wanted,
    requests: int,
) -> Fetched:
    """Put together what was stored and what has come, and replace the stored state by it."""
    reader = RecordReader(present)
    old: dict[Key, Ticket] = {}
    if before is not None:
        old = {
            (ticket.kind, ticket.number): renamed(ticket, before.repository, present)
            for ticket in store.tickets(before)
        }
    tickets = dict(old) if journal.header.since is not None else {}
    for page in journal.pages():
        tickets |= _read(reader, page.kind, page.nodes)
    unlisted: dict[str, int] = {}
    for kind in KINDS:
        last = journal.last(kind)
        assert last is not None
        known = {n: github_time(t.created_at) for (k, n), t in tickets.items() if k == kind}
        difference = reconcile(
            github,
            present,
            kind,
            known=known,
            total=last.total,
            unlisted=before.unlisted.get(kind, 0) if before else 0,
            wanted=wanted,
        )
        for number in difference.gone:
            del tickets[kind, number]
        tickets |= _read(reader, kind, difference.new)
        unlisted[kind] = difference.unlisted
    target = Store.of(github.server.host, present)
    manifest = target.replace(
        tickets.values(),
        Manifest(
            repository=present,
            source=github.server.host,
            cursor=journal.first_served_at,
            comments=wanted.comments,
            commits=wanted.commits,
            unlisted=unlisted,
            requests=github.requests - requests,
        ),
    )
    return Fetched(
        manifest,
        target,
        requests=github.requests - requests,
        changed=sum(old.get(key) != ticket for key, ticket in tickets.items()),
        removed=len(old.keys() - tickets.keys()),
    )


def _read(reader: RecordReader, kind: Kind, nodes: Iterable[dict[str, Any]]) -> dict[Key, Ticket]:
    tickets = {}
    for node in nodes:
        try:
            # The address of a ticket names its repository; pages of one repository need no other.
            ticket = replace(reader.ticket(node, kind)[0], repo=reader.repo)
        except BadField as error:
            raise RemoteError(
                f"{reader.repo}: the server sent a ticket that makes no sense: {error}"
            ) from None
        tickets[kind, ticket.number] = ticket
    return tickets
