"""One question to GitHub at a time, and the manners between them.

Limits are obeyed as the server states them (FACTS B4, B5): ``retry-after`` first, then the moment
of the reset, else a minute that doubles. A question that the server cannot finish (502, a timeout,
a body that breaks off) is asked again for less, after a pause that doubles.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Any

from fastrecall import _json
from fastrecall._term import note
from fastrecall.corpus.fetch.names import Server
from fastrecall.errors import FastrecallError, RemoteError

LARGEST_PAGE = 100
"""What GitHub allows."""

_TRIES = 8
"""Questions in a row that may fail: enough to come down from a page of 100 to a page of 1."""
_WAITS = 10
"""Limits in a row that are waited for."""
_LONGEST_PAUSE = 60.0
_FIRST_UNSTATED_WAIT = 60.0
_LONGEST_UNSTATED_WAIT = 900.0
_LONGEST_STATED_WAIT = 2 * 3600.0
_TIMEOUT = 60.0
_GROW_AFTER = 2
_WORTH_A_WORD = 5.0  # seconds of waiting

_LIMITED = frozenset({"RATE_LIMITED", "RATE_LIMIT"})
_TOO_MUCH = frozenset({"MAX_NODE_LIMIT_EXCEEDED", "RESOURCE_LIMITS_EXCEEDED"})

KEPT = "finished pages are kept: run the same command again to go on"


class PageSize:
    """How many items to ask for: halved when a page was too much, doubled when pages go well."""

    def __init__(self, start: int = LARGEST_PAGE) -> None:
        self.value = start
        self._good = 0

    def shrink(self) -> None:
        """A page of this size failed."""
        self.value = max(1, self.value // 2)
        self._good = 0

    def succeed(self) -> None:
        """A page of this size came."""
        self._good += 1
        if self._good >= _GROW_AFTER:
            self.value = min(LARGEST_PAGE, 2 * self.value)
            self._good = 0


@dataclass(frozen=True)
class Answer:
    """What a question brought: the data, errors beside it, and the server's clock."""

    data: Mapping[str, Any]
    errors: tuple[str, ...]
    error_types: frozenset[str]
    served_at: int


class _LimitedError(Exception):
    def __init__(self, what: str, seconds: float | None) -> None:
        super().__init__(what)
        self.what = what
        self.seconds = seconds


class _FailedError(Exception):
    """The server, or the way to it, failed; less of the same may work."""


class GitHub:
    """A connection to one server.

    Args:
        server: where it is.
        token: kept in the connection's headers alone.
        sleep: how to wait; tests do not want to.
        now: the clock that stated moments are compared with, where an answer brings no date.
        say: tells the user about longer waits.
    """

    def __init__(
        self,
        server: Server,
        token: str,
        *,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.time,
        say: Callable[[str], None] = note,
    ) -> None:
        import httpx

        from fastrecall import _core

        self.server = server
        self.requests = 0
        self._sleep, self._now, self._say = sleep, now, say
        self._http = httpx.Client(
            headers={
                "Content-Type": "application/json",
                "Authorization": f"Bearer {token}",
                "Accept": "application/json",
                "User-Agent": f"fastrecall/{_core.__version__}",
            },
            timeout=httpx.Timeout(_TIMEOUT, connect=20.0),
            limits=httpx.Limits(max_connections=1),
            follow_redirects=False,  # a token goes where the user said, and nowhere else
        )

    def __enter__(self) -> GitHub:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._http.close()

    def ask(self, query: str, variables: Mapping[str, Any], size: PageSize | None = None) -> Answer:
        """Ask until there is an answer; *size* becomes the variable ``first``.

        Raises:
            RemoteError: the server refuses, or keeps failing.
        """
        failures = waits = 0
        while True:
            asked = {**variables, "first": size.value} if size else dict(variables)
            try:
                answer = self._once({"query": query, "variables": asked})
            except _LimitedError as limit:
                waits += 1
                if waits > _WAITS:
                    raise RemoteError(
                        f"{self.server.host} still limits the rate ({limit.what}) after "
                        f"{_WAITS} waits; {KEPT}, later"
                    ) from None
                self._wait(limit, waits)
            except _FailedError as failure:
                failures += 1
                if failures > _TRIES:
                    raise RemoteError(
                        f"{self.server.host} failed {failures} times in a row, last with: "
                        f"{failure}; {KEPT}"
                    ) from None
                if size:
                    size.shrink()
                pause = min(2.0 ** (failures - 1), _LONGEST_PAUSE)
                if pause > _WORTH_A_WORD:
                    self._say(f"{self.server.host} failed ({failure}): again in {_span(pause)}")
                self._sleep(pause)
            else:
                if size:
                    size.succeed()
                return answer

    def _wait(self, limit: _LimitedError, waits: int) -> None:
        seconds = limit.seconds
        if seconds is None:
            seconds = min(_FIRST_UNSTATED_WAIT * 2 ** (waits - 1), _LONGEST_UNSTATED_WAIT)
        if seconds > _LONGEST_STATED_WAIT:
            raise RemoteError(
                f"{self.server.host} asks to wait {seconds / 3600:.1f} hours ({limit.what}); {KEPT}"
            )
        if seconds > _WORTH_A_WORD:
            self._say(
                f"{self.server.host} asks to wait ({limit.what}): going on in {_span(seconds)}; "
                "finished pages are kept"
            )
        self._sleep(seconds)

    def _once(self, body: Mapping[str, Any]) -> Answer:
        """One request; what came of it, as an answer or as one of three kinds of failure."""
        import httpx

        self.requests += 1
        try:
            # In ASCII: what the server itself sent, such as a cursor, may be no Unicode.
            response = self._http.post(self.server.graphql, content=json.dumps(body).encode())
        except (httpx.TransportError, httpx.DecodingError, httpx.InvalidURL) as error:
            raise _FailedError(_plain(str(error)) or type(error).__name__) from None
        status = response.status_code
        served_at = self._server_time(response.headers)
        if status in (403, 429):
            self._refused(response.headers, response.text, status, served_at)
        if status == 401:
            raise RemoteError(
                f"{self.server.host} does not accept the token (401); it may have expired, or be "
                "meant for another server"
            )
        if status >= 500:
            raise _FailedError(f"status {status}")
        if status != 200:
            target = _plain(response.headers.get("location", ""))
            raise RemoteError(
                f"{self.server.graphql} answered with status {status}"
                + (f" and points to {target}" if target else "")
                + "; check the API address"
            )
        return self._read(response.content, response.headers, served_at)

    def _read(self, content: bytes, headers: Mapping[str, str], served_at: float) -> Answer:
        try:
            reply = _json.loads(content)
        except ValueError:
            raise _FailedError("an answer that is not JSON") from None
        if not isinstance(reply, dict):
            raise _FailedError("an answer that is no object")
        told = reply.get("errors")
        errors = [one for one in told if isinstance(one, dict)] if isinstance(told, list) else []
        types = frozenset(str(error.get("type")) for error in errors if error.get("type"))
        texts = tuple(_plain(str(error.get("message", ""))) for error in errors)
        if types & _LIMITED or any("rate limit" in text.lower() for text in texts):
            raise _LimitedError("rate limit", _stated_wait(headers, served_at, always=True))
        data = reply.get("data")
        if isinstance(data, dict):
            return Answer(data, texts, types, int(served_at))
        if types & _TOO_MUCH or any("something went wrong" in text.lower() for text in texts):
            raise _FailedError(texts[0])
        if texts:
            raise RemoteError(f"{self.server.host} refused the question: {texts[0]}")
        raise _FailedError("an answer without data")

    def _refused(
        self, headers: Mapping[str, str], text: str, status: int, served_at: float
    ) -> None:
        """A 403 or 429 is a limit, unless nothing about it says so."""
        seconds = _stated_wait(headers, served_at)
        says_so = any(word in text.lower() for word in ("rate limit", "abuse", "too many"))
        if seconds is None and status == 403 and not says_so:
            try:
                reason = str(_json.loads(text)["message"])
            except (ValueError, KeyError, TypeError):
                reason = "no reason given"
            raise RemoteError(
                f"{self.server.host} refuses access (403: {_plain(reason)}); the token may lack "
                "the right to read this repository, or need single sign-on"
            )
        secondary = headers.get("x-ratelimit-remaining") != "0"
        raise _LimitedError("secondary rate limit" if secondary else "rate limit", seconds)

    def _server_time(self, headers: Mapping[str, str]) -> float:
        try:
            return parsedate_to_datetime(headers["date"]).timestamp()
        except (KeyError, ValueError, TypeError):
            return self._now()


@contextlib.contextmanager
def understood(server: Server) -> Iterator[None]:
    """Around what reads an answer: a shape that GitHub never sends is the server's failure.

    Raises:
        RemoteError: something is missing from the answer, or is of another type.
    """
    try:
        yield
    except FastrecallError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise RemoteError(
            f"{server.host} sent an answer unlike those of GitHub ({type(error).__name__}: "
            f"{_plain(str(error))}); check the API address, or try again later"
        ) from error


def next_cursor(info: Mapping[str, Any], after: str | None) -> str | None:
    """Where the page behind the one after *after* begins; None: there is none.

    Raises:
        ValueError: there is one, and the server does not say where; it would be asked for ever.
    """
    if not info["hasNextPage"]:
        return None
    cursor = info["endCursor"]
    if not isinstance(cursor, str) or cursor == after:
        raise ValueError("there are more pages, and it does not say where")
    return cursor


def _stated_wait(
    headers: Mapping[str, str], served_at: float, *, always: bool = False
) -> float | None:
    """Seconds until the server wants to hear from us; None: it does not say.

    The moment of the reset counts when nothing remains, or *always* (GraphQL may say "limited"
    while the header still shows a remainder).
    """
    try:
        if "retry-after" in headers:
            return max(0.0, float(headers["retry-after"]))
        if always or headers.get("x-ratelimit-remaining") == "0":
            # A second more, for clocks that round down.
            return max(0.0, float(headers["x-ratelimit-reset"]) - served_at) + 1.0
    except (KeyError, ValueError):
        pass
    return None


def _plain(text: str) -> str:
    """A text of the server as it may be shown: one line, printable, not long."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= 200 else line[:199] + "…"


def _span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def github_time(seconds: int) -> str:
    """A moment as GitHub writes it.

    >>> github_time(1_672_652_400)
    '2023-01-02T09:40:00Z'
    """
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
