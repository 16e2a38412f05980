"""A reply of a chat server, as every call gets it: status, headers and body."""

from __future__ import annotations

import json
import math
import time
from types import SimpleNamespace
from unittest.mock import patch

import httpx
from tests.fuzz.common import must_hold
from tests.fuzz.mutate import json_text

from fastrecall.search import llm
from fastrecall.search.judge import SCHEMA, read_ranking
from fastrecall.search.llm import ChatClient, Prices

BETWEEN = b"\n\n"
STATUS = (200, 200, 200, 200, 429, 500, 503, 408, 400, 401, 301, 204)
MESSAGES = [{"role": "user", "content": "which?"}]
CLIENT = ChatClient("ollama:m", retries=1, timeout=600, prices=Prices(1.0, 2.0))
CLIENT._http = httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(500)))
CLOCK = SimpleNamespace(sleep=lambda _: None, monotonic=time.monotonic, time=time.time)


def mutate(data, seed, mutate_bytes, max_size):
    head, between, body = data.partition(BETWEEN)
    if seed % 4 == 0 or not between:
        return mutate_bytes(data, max_size)
    return head + between + json_text(body, seed, mutate_bytes, max_size)


def run(data: bytes) -> None:
    head, _, body = data.partition(BETWEEN)
    status = STATUS[head[0] % len(STATUS)] if head else 200
    headers = [(b"retry-after", head[1:].strip())] if len(head) > 1 else []

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(status, headers=headers, content=body)

    CLIENT._http._transport = httpx.MockTransport(answer)
    with patch.object(llm, "time", CLOCK):  # pauses take no time
        exchange = CLIENT.ask(MESSAGES, SCHEMA, lambda text: read_ranking(text, 9))
    must_hold((exchange.content is None) == (exchange.failure is not None), "neither or both")
    must_hold(exchange.input_tokens >= 0 and exchange.output_tokens >= 0, "tokens")
    must_hold(exchange.cost is not None and math.isfinite(exchange.cost), "cost")
    must_hold(exchange.cost >= 0, "cost below 0")
    json.dumps(vars(exchange) | {"content": None}, allow_nan=False)
