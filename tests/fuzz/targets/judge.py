"""What a language model answers when it is asked to rank, or to describe."""

from __future__ import annotations

import contextlib

from tests.fuzz.common import must_hold
from tests.fuzz.mutate import json_text as mutate

from fastrecall.search.describe import _summary
from fastrecall.search.judge import read_object, read_ranking
from fastrecall.search.llm import AnswerError

__all__ = ["mutate", "run"]

COUNT = 9


def run(data: bytes) -> None:
    content = data.decode("utf-8", "surrogateescape")
    try:
        ranking = read_ranking(content, COUNT)
    except AnswerError as error:
        must_hold(error.reason in ("empty", "prose"), "reason")
    else:
        must_hold(ranking and len(set(ranking)) == len(ranking), "a number twice")
        must_hold(all(type(n) is int and 1 <= n <= COUNT for n in ranking), "outside")
    for read in (read_object, _summary):
        with contextlib.suppress(AnswerError):
            must_hold(read(content) is not None, "nothing")
