"""Gold of code search: queries with ranges of lines."""

from __future__ import annotations

from tests.fuzz.common import expected_errors, must_hold, scratch_file

from fastrecall.corpus.code_gold import load_code_gold


def run(data: bytes) -> None:
    with expected_errors():
        gold = load_code_gold(scratch_file("gold.csv", data))
        must_hold(len(gold.fingerprint) == 64, "fingerprint")
        for query in gold.queries:
            grades = [target.grade for target in query.targets]
            must_hold(grades == sorted(grades, reverse=True) and grades[-1] >= 1, "grades")
