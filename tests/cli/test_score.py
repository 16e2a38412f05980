"""``fastrecall score`` where there is little to score."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run


@pytest.mark.parametrize(("grade", "mean"), [(1, 1.0), (0, None)])
def test_what_one_query_cannot_tell_is_null_and_a_dash(
    run: Run, tmp_path: Path, grade: int, mean: float | None
) -> None:
    ranked, judged = tmp_path / "run", tmp_path / "qrels"
    ranked.write_text("q1 Q0 d1 1 0.9 x\n")
    judged.write_text(f"q1 0 d1 {grade}\n")
    asked = ("score", "--run", ranked, "--qrels", judged, "--metric", "mrr,chain_hit@5")
    told = run(*asked, "--json").out
    assert "NaN" not in told
    mrr, chain_hit = json.loads(told)
    assert (mrr["mean"], mrr["low"], mrr["high"]) == (mean or 0.0, None, None)
    assert chain_hit["mean"] == mean
    assert "nan" not in run(*asked).out
