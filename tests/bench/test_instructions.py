"""A regression of 20 % in the engine is caught however busy the machine is."""

from __future__ import annotations

import pytest

import instructions
from harness.programs import MissingToolError


@pytest.mark.slow
def test_no_case_takes_a_fifth_more_instructions(tmp_path):
    try:
        compiler, counts = instructions.count(tmp_path)
    except MissingToolError as missing:
        pytest.skip(str(missing))
    before = instructions.baseline(compiler)
    if before is None:
        pytest.skip(f"no counts of {compiler} are committed: bench/instructions.py --write")
    assert not instructions.grown(before, counts)


def test_growth_beyond_a_fifth_is_told():
    before = {"search": 1000, "walk": 1000, "gone": 1000}
    problems = instructions.grown(before, {"search": 1201, "walk": 1200, "new": 5})
    assert [problem.partition(":")[0] for problem in problems] == ["search", "gone"]


def test_counts_of_other_compilers_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(instructions, "BASELINE", tmp_path / "counts.json")
    instructions.write("GNU 12 x86_64", {"search": 1})
    instructions.write("GNU 13 x86_64", {"search": 2})
    assert instructions.baseline("GNU 12 x86_64") == {"search": 1}
    assert instructions.baseline("Clang 16 x86_64") is None


def test_committed_counts_are_of_all_cases():
    counts = instructions.baseline("GNU 12 x86_64")
    assert counts is not None
    assert {"exact_int8, avx2", "exact_int8, scalar", "hnsw_build, avx2", "bfs, avx2"} <= set(
        counts
    )
    assert min(counts.values()) > 100_000
