"""Answers of GitHub, one a line: ``status|name=value,…|body``. Two fetches: all, then changes."""

from __future__ import annotations

import os
from unittest.mock import patch

import httpx
from tests.fuzz.common import empty_folder, expected_errors, must_hold
from tests.fuzz.mutate import json_text

from fastrecall.corpus.fetch import GitHub, Server, Wanted, fetch_repository
from fastrecall.corpus.fetch.store import Store

NAME = "demo/lattice"
WAITS: list[float] = []
CLIENT = GitHub(
    Server.at("https://api.github.com"), "token", sleep=WAITS.append, now=lambda: 1.7e9, say=str
)
CLIENT._http = httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(500)))


def mutate(data, seed, mutate_bytes, max_size):
    lines = data.split(b"\n")
    at = seed % len(lines)
    head, bar, body = lines[at].rpartition(b"|")
    if seed % 5 == 0 or not bar:
        return mutate_bytes(data, max_size)
    if seed % 7 == 0:
        lines.insert(seed % (len(lines) + 1), lines[at])
    else:
        lines[at] = head + bar + json_text(body, seed, mutate_bytes, max_size)
    return b"\n".join(lines)[:max_size]


def response(line: bytes) -> httpx.Response:
    status, _, rest = line.partition(b"|")
    told, _, body = rest.partition(b"|")
    headers = [
        (name, value)
        for name, is_there, value in (
            one.partition("=") for one in told.decode("latin-1").split(",")
        )
        if is_there and name.isascii() and name.replace("-", "").isalnum()
    ]
    number = int(status) if status.isdigit() and 100 <= int(status[:3]) < 600 else 200
    return httpx.Response(int(str(number)[:3]), headers=headers, content=body)


def run(data: bytes) -> None:
    with patch.dict(os.environ, FASTRECALL_DATA=str(empty_folder("data"))):
        check(data)


def check(data: bytes) -> None:
    lines = iter(data.split(b"\n"))

    def answer(request: httpx.Request) -> httpx.Response:
        line = next(lines, None)
        if line is None:
            raise httpx.ConnectError("no more answers")
        try:
            return response(line)
        except (ValueError, httpx.HTTPError) as error:  # such an answer never gets through
            raise httpx.ReadError("no HTTP") from error

    WAITS.clear()
    CLIENT._http._transport = httpx.MockTransport(answer)
    for wanted in (Wanted(), Wanted(comments=True, commits=True), Wanted()):
        with expected_errors():
            fetched = fetch_repository(NAME, github=CLIENT, wanted=wanted, say=str)
            tickets = fetched.store.tickets(fetched.manifest)
            counts = fetched.manifest.counts
            must_hold(len(tickets) == counts["issues"] + counts["prs"], "counts")
    must_hold(all(0 <= seconds < 10_000 for seconds in WAITS), "a wait without end")
    with expected_errors():
        Store.of(CLIENT.server.host, NAME).manifest()
