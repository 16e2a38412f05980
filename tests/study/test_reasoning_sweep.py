"""Sweeps of the reasoning step: what is varied, and that small differences are called noise."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from fastrecall.config import ReasoningSettings, load_config
from fastrecall.corpus.code import load_code
from fastrecall.corpus.code_gold import load_code_gold
from fastrecall.report.code_table import render_code
from fastrecall.search.reasoning import Reasoner
from fastrecall.study.reasoning_sweep import (
    PUBLISHED_AXES,
    against_base,
    one_at_a_time,
    sweep_reasoning,
)

QUERIES = [f"name{number}" for number in range(12)]


def settings() -> ReasoningSettings:
    return load_config(folder=Path("/nowhere")).reasoning


def test_the_published_sweep_varies_one_setting_at_a_time() -> None:
    points = one_at_a_time(settings())
    assert len(points) == 1 + sum(len(values) - 1 for values in PUBLISHED_AXES.values())
    assert points["context_level=snippets"] == replace(settings(), context_level="snippets")


def test_two_queries_of_twelve_are_noise_and_all_of_them_are_not(tmp_path: Path) -> None:
    for query in QUERIES:
        (tmp_path / f"{query}.rs").write_text(f"fn {query}() {{\n    body_of({query});\n}}\n")
    corpus = load_code(tmp_path)
    file = tmp_path / "gold.csv"
    rows = [f"{query},{query}.rs:1-3:2" for query in QUERIES]
    file.write_text("query,result1\n" + "\n".join(rows) + "\n")
    gold = load_code_gold(file)

    # The right chunk is first in the hybrid order: a judge that lists six others buries it.
    def judged(wrong: int) -> Path:
        path = tmp_path / f"{wrong}.jsonl"
        answers = ["[2,3,4,5,6,7]" if at < wrong else "[1]" for at in range(len(QUERIES))]
        lines = [{"query": q, "content": a} for q, a in zip(QUERIES, answers, strict=True)]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path

    wrong = {1.0: 0, 2.0: 2, 3.0: 12}
    points = {f"w={w}": replace(settings(), reasoning_weight=w) for w in wrong}
    records = sweep_reasoning(
        corpus,
        gold,
        points,
        reasoner=lambda point: Reasoner(point, replay=judged(wrong[point.reasoning_weight])),
        model="fake",
        cache=False,
    )
    table = against_base(records)
    assert [row["hits"] for row in table] == [12, 10, 0]
    assert [row["verdict"] for row in table] == ["base", "noise", "differs"]
    assert table[1]["holm_p"] == 0.5

    text = render_code(records["w=3.0"], width=100, color=False, misses=True)
    assert "12 queries (gold.csv) · model" in text
    assert "hybrid + reasoning over hybrid, Hit@5: -100.0 points" in text
    assert "reasoning: 0 of 12 calls failed" in text
