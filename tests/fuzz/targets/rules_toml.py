"""A file of signs by which agents and automation are known."""

from __future__ import annotations

from tests.fuzz.common import expected_errors, scratch_file

from fastrecall.study.stats.rules import load_rules


def run(data: bytes) -> None:
    with expected_errors():
        load_rules(scratch_file("traces.toml", data))
