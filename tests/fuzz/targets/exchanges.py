"""Recorded exchanges with a language model, and an entry of the answer cache, as it is read there
and where summaries of code are looked for."""

from __future__ import annotations

from functools import cache

import httpx
from tests.fuzz.common import expected_errors, must_hold, scratch_file, scratch_folder
from tests.fuzz.mutate import json_lines as mutate

from fastrecall.corpus.code import CodeChunk, chunk_file
from fastrecall.search.describe import _messages, describe
from fastrecall.search.exchanges import AnswerCache, Recording, Replay
from fastrecall.search.llm import ChatClient, Exchange

__all__ = ["mutate", "run"]


@cache
def asked() -> tuple[CodeChunk, ChatClient]:
    """Some code, and a model whose server is out of order."""
    client = ChatClient("ollama:m", retries=0)
    client._http = httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(500)))
    return chunk_file("a.py", "x = 1\n")[0], client


def check(exchange: Exchange) -> None:
    must_hold((exchange.content is None) == (exchange.failure is not None), "neither or both")
    must_hold(sum((0, exchange.attempts, exchange.input_tokens, exchange.output_tokens)) >= 0, "n")
    must_hold(exchange.cost is None or exchange.cost + 1.0 >= 1.0, "cost")
    must_hold(isinstance(exchange.detail, str), "detail")


def run(data: bytes) -> None:
    with expected_errors():
        replay = Replay(scratch_file("recorded.jsonl", data))
        for query in list(replay._rows):
            with expected_errors():
                exchange, cached = replay.take(query, "p")
                check(exchange)
                must_hold(isinstance(cached, bool), "cached")
    chunk, client = asked()
    store = AnswerCache(scratch_folder() / "answers")
    key = client.request_hash(_messages(chunk))
    store._file(key).parent.mkdir(parents=True, exist_ok=True)
    store._file(key).write_bytes(data.partition(b"\n")[0])
    exchange = store.get(key)
    if exchange is not None:
        check(exchange)
        store.put("ab12", exchange)
        must_hold(store.get("ab12") == exchange, "another answer when it is kept")
        recording = Recording(scratch_folder() / "again.jsonl")
        recording.add("q", "p", exchange, cached=True)
        recording.save()
        must_hold(Replay(recording.path).take("q", "p") == (exchange, True), "another recording")
    with expected_errors():
        [line] = describe([chunk], client, concurrency=1, cache=store.folder)
        must_hold(line and "\n" not in line, "a summary of one line")
