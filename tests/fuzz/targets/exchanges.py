"""Recorded exchanges with a language model, and an entry of the answer cache."""

from __future__ import annotations

from tests.fuzz.common import expected_errors, must_hold, scratch_file, scratch_folder
from tests.fuzz.mutate import json_lines as mutate

from fastrecall.search.exchanges import AnswerCache, Replay
from fastrecall.search.llm import Exchange

__all__ = ["mutate", "run"]


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
    folder = scratch_folder() / "ab"
    folder.mkdir(exist_ok=True)
    (folder / "ab12.json").write_bytes(data.partition(b"\n")[0])
    exchange = AnswerCache(scratch_folder()).get("ab12")
    if exchange is not None:
        check(exchange)
