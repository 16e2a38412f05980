"""A Parquet file of tickets, byte by byte."""

from __future__ import annotations

from tests.fuzz.common import expected_errors, scratch_file

from fastrecall.corpus import load_corpus


def run(data: bytes) -> None:
    with expected_errors():
        load_corpus(scratch_file("tickets.parquet", data), window_prs=None, window_issues=None)
