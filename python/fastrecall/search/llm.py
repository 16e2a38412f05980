"""Ask a language model over the OpenAI chat API: bounded retries under one deadline.

A call ends in one of two ways: an answer that the caller accepted, or a failure with a reason.
Nothing is raised for a server that misbehaves; `Exchange` says what happened, and is what is
cached, recorded and replayed.
"""

from __future__ import annotations

import json
import math
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from fastrecall import _json
from fastrecall._toml import packaged
from fastrecall.errors import InputError

if TYPE_CHECKING:
    import httpx

CUSTOM_KEY = "FASTRECALL_LLM_API_KEY"
"""Environment variable of the key for a server given by ``base_url``."""

MAX_OUTPUT_TOKENS = 4000
"""Room for the thinking that some models do before a short answer; the published number."""

_MAX_REPLY_BYTES = 4_000_000
_ABSURD = 10**12
"""Tokens or dollars that no answer takes: who reports them, reports nothing."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 8.0  # seconds; doubled after each attempt
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})

Reason = Literal[
    "timeout", "connection", "rate limited", "server error", "refused by server", "malformed",
    "empty", "prose", "truncated", "refused",
]  # fmt: skip
"""Why a call failed. The last four speak of an answer, the others of the server."""

Messages = Sequence[Mapping[str, str]]


@dataclass(frozen=True)
class Provider:
    """A server's record; the fields are explained at the head of ``providers.toml``."""

    name: str
    base_url: str
    key: str
    answers: Literal["schema", "object", "free"]
    limit: str = "max_tokens"


@cache
def providers() -> Mapping[str, Provider]:
    """All providers by name.

    >>> providers()["ollama"].base_url
    'http://localhost:11434/v1'
    """
    tables = packaged("fastrecall.search", "providers.toml")
    return {name: Provider(name=name, **table) for name, table in tables.items()}


@dataclass(frozen=True)
class Prices:
    """US dollars per million tokens, as the provider bills them."""

    input: float
    output: float


@dataclass(frozen=True)
class Exchange:
    """What one question to the model came to: an accepted ``content``, or a ``failure``.

    Tokens are summed over all attempts. ``cost`` in US dollars is ``None`` where neither the server
    nor a price list tells it.
    """

    content: str | None
    failure: Reason | None = None
    detail: str = ""
    attempts: int = 1
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None


class AnswerError(Exception):
    """An answer that cannot be used; raised by the caller's check, then the call is repeated."""

    def __init__(self, reason: Reason, detail: str = "") -> None:
        super().__init__(detail or reason)
        self.reason: Reason = reason
        self.detail = detail


class _CallError(AnswerError):
    def __init__(
        self,
        reason: Reason,
        detail: str = "",
        *,
        final: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(reason, detail)
        self.final = final
        self.retry_after = retry_after


@dataclass
class _Usage:
    """Tokens and dollars of the attempts of one call."""

    prices: Prices | None
    input_tokens: int = 0
    output_tokens: int = 0
    reported: float | None = None  # what the server says it cost

    def add(self, usage: object) -> None:
        table = usage if isinstance(usage, dict) else {}
        self.input_tokens += _count(table.get("prompt_tokens"))
        self.output_tokens += _count(table.get("completion_tokens"))
        cost = table.get("cost")
        if isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost < _ABSURD:
            self.reported = (self.reported or 0.0) + float(cost)

    @property
    def cost(self) -> float | None:
        """What the server reported, else what the prices say."""
        if self.reported is not None or self.prices is None:
            return self.reported
        prices = self.prices
        return (self.input_tokens * prices.input + self.output_tokens * prices.output) / 1e6


class ChatClient:
    """A model on a server; safe to share between threads.

    The API key is read from the environment when the client is made and lives nowhere else: the
    provider's key goes to the provider's own address only, another address gets the key in
    ``FASTRECALL_LLM_API_KEY`` or none.

    Args:
        model: ``provider:model``, such as ``deepseek:deepseek-v4-flash``.
        base_url: another server; ``""`` for the provider's own.
        temperature: 0 to 2.
        timeout: seconds for one question, all attempts and pauses together.
        retries: attempts after the first.
        prices: for servers that do not report what an answer cost.

    Raises:
        InputError: no such provider, a key that is missing, or one that would travel unencrypted.

    >>> ChatClient("ollama:qwen3:8b").model
    'qwen3:8b'
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str = "",
        temperature: float = 1.0,
        timeout: float = 60.0,
        retries: int = 3,
        prices: Prices | None = None,
    ) -> None:
        self.name = model
        self.provider, self.model = _provider_and_model(model)
        self.base_url = (base_url or self.provider.base_url).rstrip("/")
        self.temperature = temperature
        self.timeout = timeout
        self.retries = retries
        self._prices = prices
        self._key = _key_for(self.provider, self.base_url)
        self._http = _http_client(self.base_url, self._key)

    def request_hash(self, messages: Messages) -> str:
        """What an answer depends on, hashed: server, model, temperature and messages."""
        parts = [self.base_url, self.model, self.temperature, list(messages)]
        return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def ask(
        self, messages: Messages, schema: Mapping[str, Any], check: Callable[[str], object]
    ) -> Exchange:
        """Ask until *check* accepts the content, retries run out or the deadline passes.

        *check* raises `AnswerError` for content that cannot be used.
        """
        body = self._body(messages, schema)
        usage = _Usage(self._prices)
        deadline = time.monotonic() + self.timeout
        attempt = 0
        while True:
            attempt += 1
            try:
                content = self._content(self._post(body, deadline), usage)
                check(content)
                return self._exchange(usage, attempt, content=content)
            except AnswerError as error:
                pause = self._pause(error, attempt)
                if pause is None or time.monotonic() + pause >= deadline:
                    detail = self._safe(error.detail)
                    if pause is not None:
                        detail = f"{detail}; no time for another attempt".removeprefix("; ")
                    failed = self._exchange(usage, attempt, content=None)
                    return replace(failed, failure=error.reason, detail=detail)
                time.sleep(pause)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _exchange(self, usage: _Usage, attempts: int, *, content: str | None) -> Exchange:
        return Exchange(
            content,
            attempts=attempts,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cost=usage.cost,
        )

    def _pause(self, error: AnswerError, attempt: int) -> float | None:
        """Seconds before the next attempt; ``None`` when there is to be none."""
        if attempt > self.retries or (isinstance(error, _CallError) and error.final):
            return None
        if isinstance(error, _CallError) and error.retry_after is not None:
            return error.retry_after
        return min(_LONGEST_PAUSE, math.ldexp(_FIRST_PAUSE, attempt - 1))

    def _body(self, messages: Messages, schema: Mapping[str, Any]) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.model,
            "messages": list(messages),
            "temperature": self.temperature,
            self.provider.limit: MAX_OUTPUT_TOKENS,
        }
        if self.provider.answers == "schema":
            described = {"name": "answer", "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": described}
        elif self.provider.answers == "object":
            body["response_format"] = {"type": "json_object"}
        return body

    def _post(self, body: Mapping[str, Any], deadline: float) -> Any:
        """The server's JSON reply, complete before the deadline.

        The reply is read in pieces: httpx limits the wait for each piece, and a server that drips
        would otherwise hold a search for ever.
        """
        import httpx

        address = f"{self.base_url}/chat/completions"
        try:
            with self._http.stream("POST", address, json=body, timeout=_left(deadline)) as response:
                reply = bytearray()
                for piece in response.iter_bytes():
                    reply += piece
                    _left(deadline)
                    if len(reply) > _MAX_REPLY_BYTES:
                        raise _CallError("malformed", f"more than {_MAX_REPLY_BYTES:,} bytes")
        except httpx.TimeoutException:
            raise _CallError("timeout", f"no answer within {self.timeout:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise _CallError("connection", f"{address}: {error}") from None
        if response.status_code != 200:
            raise _refusal(response.status_code, response.headers, bytes(reply))
        try:
            return _json.loads(reply)
        except ValueError:
            raise _CallError("malformed", f"not JSON: {_excerpt(bytes(reply))}") from None

    def _content(self, reply: Any, usage: _Usage) -> str:
        """The text of the answer, whole and not refused."""
        if not isinstance(reply, dict):
            raise _CallError("malformed", "the reply is no JSON object")
        usage.add(reply.get("usage"))
        if reply.get("error"):  # some gateways report the failure of their upstream with 200
            raise _CallError("server error", _excerpt(json.dumps(reply["error"]).encode()))
        try:
            choice = reply["choices"][0]
            message = choice["message"]
            content = message.get("content")
        except (KeyError, IndexError, TypeError, AttributeError):
            raise _CallError("malformed", "the reply has no choices[0].message") from None
        ended = choice.get("finish_reason")
        if message.get("refusal") or ended == "content_filter":
            raise _CallError("refused", str(message.get("refusal") or "content filter"))
        if ended == "length":
            raise _CallError("truncated", f"the answer passed {MAX_OUTPUT_TOKENS} tokens")
        if isinstance(content, list):  # parts, as some servers write it
            parts = [part.get("text") for part in content if isinstance(part, dict)]
            content = "".join(part for part in parts if isinstance(part, str))
        if not isinstance(content, str) or not content.strip():
            raise _CallError("empty", "the answer is empty")
        return content

    def _safe(self, detail: str) -> str:
        """Error text of a server, short, in one line, and without the key it may have echoed."""
        text = detail.replace(self._key, "[key]") if self._key else detail
        return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:300]


def _provider_and_model(name: str) -> tuple[Provider, str]:
    provider, _, model = name.partition(":")
    if not model.strip():
        raise InputError(f"model {name!r}; expected provider:model, such as 'ollama:qwen3:8b'")
    if provider not in providers():
        raise InputError(
            f"provider {provider!r} is not known; expected one of {', '.join(providers())} "
            "(openai with base_url for any other server that speaks its chat API)"
        )
    return providers()[provider], model


def _http_client(base_url: str, key: str) -> httpx.Client:
    import httpx

    headers = {"Authorization": f"Bearer {key}"} if key else {}
    # A proxy from the environment cannot reach this machine's own servers. Redirects are not
    # followed: they would carry the key along.
    here = urlsplit(base_url).hostname in _LOOPBACK
    return httpx.Client(headers=headers, follow_redirects=False, trust_env=not here)


def _key_for(provider: Provider, base_url: str) -> str:
    """The API key for an address: the provider's own key never leaves for another server."""
    own = _origin(base_url) == _origin(provider.base_url)
    variable = provider.key if own else CUSTOM_KEY
    key = os.environ.get(variable, "").strip() if variable else ""
    if own and variable and not key:
        raise InputError(
            f"{provider.name} needs an API key; set the environment variable {variable}"
        )
    if not (key.isascii() and key.isprintable()):
        raise InputError(f"{variable} holds characters that no API key has; set it again")
    parts = urlsplit(base_url)
    if key and parts.scheme != "https" and parts.hostname not in _LOOPBACK:
        raise InputError(
            f"{base_url} is not encrypted and the key in {variable} would be; "
            f"use https, or unset {variable}"
        )
    return key


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise _CallError("timeout", "the deadline passed", final=True)
    return left


def _refusal(status: int, headers: Mapping[str, str], reply: bytes) -> _CallError:
    detail = f"HTTP {status}: {_excerpt(reply)}"
    wait = _retry_after(headers.get("retry-after"))
    if status == 429:
        return _CallError("rate limited", detail, retry_after=wait)
    if status >= 500 or status == 408:
        return _CallError("server error", detail, retry_after=wait)
    return _CallError("refused by server", detail, final=True)


def _retry_after(value: str | None) -> float | None:
    """Seconds to wait: the header holds a number of them, or a date."""
    if not value:
        return None
    if number := re.fullmatch(r"[ \t]*(\d+(?:\.\d+)?)[ \t]*", value, re.ASCII):
        return float(number[1])
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, OverflowError, TypeError):
        return None


def _excerpt(reply: bytes) -> str:
    """The beginning, long enough that what is finally shown was searched for the key whole."""
    return reply[:4000].decode("utf-8", errors="replace")


def _count(value: object) -> int:
    known = isinstance(value, int) and not isinstance(value, bool) and 0 < value < _ABSURD
    return int(value) if known else 0  # type: ignore[call-overload]
