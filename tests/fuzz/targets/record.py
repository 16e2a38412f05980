"""A record that somebody changed: shown, compared with itself, made a page."""

from __future__ import annotations

from tests.fuzz.common import expected_errors, scratch_file
from tests.fuzz.mutate import json_text as mutate

from fastrecall.report.html import render_html
from fastrecall.study.record import Record

__all__ = ["mutate", "run"]


def run(data: bytes) -> None:
    record = None
    with expected_errors():
        record = Record.load(scratch_file("record.json", data))
    if record is None:
        return
    with expected_errors():
        record.table(width=100)
    with expected_errors():
        record.markdown()
    with expected_errors():
        record.compare(record)
    with expected_errors():
        record.to_json()
    with expected_errors():
        render_html(record)
