"""The chat client over real HTTP: every way a server can fail, one deadline, and the key."""

from __future__ import annotations

import json
import time
from email.utils import formatdate

import pytest
from tests.fake_llm import FakeServer, Reply, answer, error, fake_server

from fastrecall.errors import InputError
from fastrecall.search import llm
from fastrecall.search.judge import SCHEMA, read_ranking
from fastrecall.search.llm import ChatClient, Exchange, Prices, providers

MESSAGES = [{"role": "user", "content": "which?"}]
KEY = "sk-very-secret-1234567890"


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in providers().values():
        if provider.key:
            monkeypatch.delenv(provider.key, raising=False)
    monkeypatch.delenv(llm.CUSTOM_KEY, raising=False)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")  # must not be asked for loopback
    monkeypatch.setattr(llm, "_FIRST_PAUSE", 0.01)


def ask(server: FakeServer, model: str = "ollama:m", **options: object) -> Exchange:
    client = ChatClient(model, base_url=server.url, **{"retries": 1, "timeout": 5, **options})  # type: ignore[arg-type]
    try:
        return client.ask(MESSAGES, SCHEMA, lambda text: read_ranking(text, 4))
    finally:
        client.close()


def test_an_answer_is_returned_with_its_tokens_and_cost() -> None:
    with fake_server(answer('{"ranking": [2, 1]}')) as server:
        exchange = ask(server, prices=Prices(input=1.0, output=100.0))
    assert exchange == Exchange('{"ranking": [2, 1]}', None, "", 1, 100, 7, pytest.approx(0.0008))
    assert server.paths == ["/v1/chat/completions"]
    assert server.bodies[0]["messages"] == MESSAGES
    assert server.bodies[0]["response_format"]["json_schema"]["schema"] == dict(SCHEMA)


def test_cost_is_what_the_server_reports_or_unknown() -> None:
    reply = json.loads(answer("[1]").body)
    reply["usage"]["cost"] = 0.25
    with fake_server(Reply(json.dumps(reply).encode())) as server:
        assert ask(server, prices=Prices(1.0, 1.0)).cost == 0.25
    with fake_server(answer("[1]")) as server:
        assert ask(server).cost is None


def test_text_in_parts_is_joined() -> None:
    parts = [{"type": "text", "text": "[1"}, {"type": "text", "text": ", 2]"}]
    with fake_server(answer(parts)) as server:
        assert ask(server).content == "[1, 2]"


FAILURES = {
    "prose": (answer("I think the second one is best."), "prose"),
    "object without an array": (answer('{"best": 2}'), "prose"),
    "empty": (answer("  "), "empty"),
    "null content": (answer(None), "empty"),
    "nothing listed": (answer('{"ranking": []}'), "empty"),
    "only numbers out of range": (answer("[0, 5, 99]"), "empty"),
    "truncated": (answer('{"ranking": [1', ended="length"), "truncated"),
    "refused": (answer(None, refusal="I cannot help with that."), "refused"),
    "content filter": (answer("", ended="content_filter"), "refused"),
    "429": (error(429), "rate limited"),
    "500": (error(500), "server error"),
    "503": (error(503), "server error"),
    "error with status 200": (Reply(b'{"error": {"message": "upstream"}}'), "server error"),
    "not JSON": (Reply(b"<html>gateway</html>"), "malformed"),
    "no choices": (Reply(b'{"choices": []}'), "malformed"),
    "array reply": (Reply(b"[]"), "malformed"),
    "hang up": (Reply(b"", hang_up=True), "connection"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_each_failure_is_recognised_and_retried_within_bounds(name: str) -> None:
    reply, reason = FAILURES[name]
    with fake_server(reply) as server:
        exchange = ask(server, retries=2)
    assert exchange.failure == reason
    assert exchange.content is None
    assert exchange.attempts == len(server.bodies) == 3


@pytest.mark.parametrize("name", FAILURES)
def test_each_failure_is_forgotten_when_the_next_attempt_succeeds(name: str) -> None:
    with fake_server(FAILURES[name][0], answer("[3]")) as server:
        exchange = ask(server)
    assert (exchange.content, exchange.failure, exchange.attempts) == ("[3]", None, 2)


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404])
def test_what_a_repetition_cannot_mend_is_not_repeated(status: int) -> None:
    with fake_server(error(status, "model not found", location="http://elsewhere/")) as server:
        exchange = ask(server, retries=3)
    assert exchange.failure == "refused by server"
    assert f"HTTP {status}" in exchange.detail
    assert "model not found" in exchange.detail
    assert len(server.bodies) == 1


def test_tokens_of_failed_attempts_count() -> None:
    with fake_server(answer("prose"), answer("[1]")) as server:
        exchange = ask(server)
    assert (exchange.input_tokens, exchange.output_tokens) == (200, 14)


def test_retry_after_is_obeyed() -> None:
    with fake_server(error(429, retry_after="0.3"), answer("[1]")) as server:
        began = time.monotonic()
        assert ask(server).content == "[1]"
        assert time.monotonic() - began >= 0.3
    soon = formatdate(time.time() + 1, usegmt=True)
    with fake_server(error(503, retry_after=soon), answer("[1]")) as server:
        assert ask(server).content == "[1]"


def test_a_wait_beyond_the_deadline_is_not_begun() -> None:
    with fake_server(error(429, "slow down", retry_after="3600")) as server:
        began = time.monotonic()
        exchange = ask(server, retries=5)
        assert time.monotonic() - began < 2
    assert exchange.failure == "rate limited"
    assert exchange.detail.endswith("no time for another attempt")


@pytest.mark.parametrize("reply", [
    Reply(answer("[1]").body, delay=1.5),
    Reply(answer("[1]").body, drip=0.05),  # each piece in time, the whole never
])  # fmt: skip
def test_one_deadline_bounds_everything(reply: Reply) -> None:
    with fake_server(reply) as server:
        began = time.monotonic()
        exchange = ask(server, timeout=0.4, retries=9)
        assert time.monotonic() - began < 1.2
    assert exchange.failure == "timeout"


def test_no_server_is_a_connection_failure() -> None:
    with fake_server(answer("[1]")) as server:
        pass
    assert ask(server).failure == "connection"


def test_the_key_stays_out_of_error_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(llm.CUSTOM_KEY, KEY)
    with fake_server(error(401, f"bad key {KEY}\x1b[31m")) as server:
        exchange = ask(server)
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert KEY not in repr(exchange)
    assert "[key]" in exchange.detail
    assert "\x1b" not in exchange.detail


def test_a_key_is_not_cut_in_half_by_an_excerpt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(llm.CUSTOM_KEY, KEY)
    for padding in range(230, 310, 7):
        with fake_server(Reply(b"x" * padding + KEY.encode(), 400)) as server:
            assert KEY[:6] not in ask(server).detail


def test_a_provider_key_is_never_sent_to_another_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with fake_server(answer("[1]")) as server:
        ask(server, model="openai:gpt")
        # the path is part of no origin: the same host under another path is still the provider's
        assert ChatClient("openai:gpt", base_url="https://api.openai.com/v2")._key == KEY
        for foreign in ("http://api.openai.com/v1", "https://api.openai.com:8443/v1",
                        "https://api.openai.com.evil.example/v1"):  # fmt: skip
            assert ChatClient("openai:gpt", base_url=foreign)._key == ""
    assert "authorization" not in server.headers[0]
    assert KEY not in json.dumps([server.headers, server.bodies])


def test_a_key_does_not_travel_unencrypted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(llm.CUSTOM_KEY, KEY)
    with pytest.raises(InputError, match="is not encrypted"):
        ChatClient("openai:gpt", base_url="http://llm.example/v1")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("gpt", "expected provider:model"),
        ("ollama:", "expected provider:model"),
        ("opanai:gpt", "provider 'opanai' is not known; expected one of openai,"),
        ("openai:gpt", "openai needs an API key; set the environment variable OPENAI_API_KEY"),
    ],
)
def test_what_cannot_be_asked_is_said(model: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ChatClient(model)


def test_a_key_with_a_line_break_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a\nb")
    with pytest.raises(InputError, match="OPENAI_API_KEY holds characters"):
        ChatClient("openai:gpt")


@pytest.mark.parametrize("name", list(providers()))
def test_providers_are_well_formed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    provider = providers()[name]
    assert provider.answers in ("schema", "object", "free")
    assert provider.base_url.startswith(("https://", "http://localhost:"))
    if provider.key:
        monkeypatch.setenv(provider.key, KEY)
    client = ChatClient(f"{name}:m")
    body = client._body(MESSAGES, SCHEMA)
    assert ("response_format" in body) == (provider.answers != "free")
    assert body[provider.limit] == llm.MAX_OUTPUT_TOKENS
    client.close()
