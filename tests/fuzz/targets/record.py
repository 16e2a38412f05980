"""A record that somebody changed: shown, judged by gates, compared, made a page, written again. A
second line changes another record, which is the baseline; else that is as it was written."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from tests.fuzz.common import expected_errors, must_hold, scratch_file, scratch_folder
from tests.fuzz.mutate import json_lines as mutate

from fastrecall.report.compare_table import render_comparison
from fastrecall.report.html import render_html
from fastrecall.report.sweep_table import render_sweep
from fastrecall.study import gate
from fastrecall.study.record import Record
from fastrecall.study.sweep import Point, rank_points

__all__ = ["mutate", "run"]

SEED = Path(__file__).parents[1] / "seeds" / "record" / "small"
GATES = ("chain_hit@32[causal]=0.5", "mrr[leave-one-out/semantic]=0", "hit@1[x]=1")


@cache
def whole() -> bytes:
    return SEED.read_bytes()


def run(data: bytes) -> None:
    first, _, second = data.partition(b"\n")
    record = loaded("record.json", first)
    if record is None:
        return
    with expected_errors():
        record.table(width=100)
    with expected_errors():
        record.markdown()
    with expected_errors():
        render_html(record)
    for spec in GATES:
        for bound in ("point", "lower"):
            with expected_errors():
                gate.fail_under(record, spec, bound=bound)
    with expected_errors():
        record.save(scratch_folder() / "again.json")
        again = Record.load(scratch_folder() / "again.json")
        must_hold(json.dumps(dict(again)) == json.dumps(dict(record)), "another record")
    baseline = loaded("baseline.json", second or whole())
    if baseline is None:
        return
    # Either way round, and one thing in one run: tables take their time.
    one, other = (record, baseline) if len(data) % 2 else (baseline, record)
    with expected_errors():
        gate.junit(gate.max_drop(one, other, 0.1))
    with expected_errors():
        if len(data) % 4 < 2:
            render_comparison(one.compare(other, anyway=True), width=100, color=False)
        else:
            points = [(Point({"budget": "8"}, {}), one), (Point({}, {}), other)]
            rows = rank_points(points, protocol="published", arm="causal")
            render_sweep(rows, ranked_by="published/causal", width=100, color=False)


def loaded(name: str, data: bytes) -> Record | None:
    with expected_errors():
        return Record.load(scratch_file(name, data))
    return None
