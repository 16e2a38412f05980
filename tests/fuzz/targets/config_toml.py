"""A settings file."""

from __future__ import annotations

from tests.fuzz.common import expected_errors, must_hold, scratch_file

from fastrecall.config import load_config
from fastrecall.corpus.window import author_matcher


def run(data: bytes) -> None:
    with expected_errors():
        config = load_config(scratch_file("fastrecall.toml", data))
        must_hold(config.eval.budget >= 1 and config.eval.depth >= 1, "budget, depth")
        must_hold(0 <= config.reasoning.temperature <= 2, "temperature")
        must_hold(config.reasoning.context_characters > 0, "context level")
        if config.eval.author_filter:
            author_matcher(config.eval.author_filter)
