"""The record of code search: numbers worked out by hand, failures counted, same bytes again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fastrecall.config import load_config
from fastrecall.corpus.code import CodeCorpus, load_code
from fastrecall.corpus.code_gold import CodeGold, load_code_gold
from fastrecall.errors import InputError
from fastrecall.search.reasoning import Reasoner
from fastrecall.study.code_eval import METRICS, evaluate_code
from fastrecall.study.gate import fail_under

NAMES = ("alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india",
         "juliett", "kilo", "lima")  # fmt: skip


@pytest.fixture
def corpus(tmp_path: Path) -> CodeCorpus:
    for name in NAMES:
        (tmp_path / f"{name}.rs").write_text(f"fn {name}() {{\n    {name}_body(1, 2, 3);\n}}\n")
    return load_code(tmp_path)


def gold(tmp_path: Path, *rows: str) -> CodeGold:
    file = tmp_path / "gold.csv"
    file.write_text("query,result1,result2\n" + "\n".join(rows) + "\n")
    return load_code_gold(file)


@pytest.fixture
def asked(tmp_path: Path) -> CodeGold:
    return gold(
        tmp_path,
        "alpha,alpha.rs:1-3:2,",  # bm25: first
        "bravo charlie,charlie.rs:2-2:1,bravo.rs:1-1:2",  # bm25: both, ranks 1 and 2
        "zulu,delta.rs:1-3:2,",  # bm25: nothing shares a word
        "echo,gone.rs:1-3:2,",  # not in the corpus: a miss, not a dropped query
    )


def run(corpus: CodeCorpus, gold: CodeGold, **options: Any) -> dict[str, Any]:
    return dict(evaluate_code(corpus, gold, model="fake", cache=False, **options))


def test_metrics_are_those_worked_out_by_hand(corpus: CodeCorpus, asked: CodeGold) -> None:
    record = run(corpus, asked)
    block = record["protocols"]["code"]
    assert (block["queries"], block["targets"], block["unreachable"]) == (4, 5, 1)
    assert list(block["arms"]) == ["bm25", "semantic", "hybrid"]
    bm25 = block["arms"]["bm25"]
    assert bm25["mrr"] == pytest.approx((1 + 1 + 0 + 0) / 4)
    assert bm25["hit@5"] == bm25["hit@10"] == 0.5
    assert bm25["recall@10"] == pytest.approx((1 + 2 / 2 + 0 + 0) / 4)
    assert 0.45 < bm25["ndcg@10"] <= 0.5
    assert (bm25["hits"], bm25["pairs"], bm25["hits_at"][0]) == (2, 4, 2)
    assert bm25["mean_lines"] == 3.0
    for name in METRICS:
        low, high = bm25["ci95"][name]
        assert low <= bm25[name] <= high


def test_rows_tell_ranks_and_what_came_instead(corpus: CodeCorpus, asked: CodeGold) -> None:
    rows = run(corpus, asked)["queries"]
    assert [row["ranks"]["code"]["bm25"] for row in rows] == [1, 1, None, None]
    assert rows[2]["misses"]["code"]["bm25"] == {"rank": None, "top": []}
    assert rows[3]["misses"]["code"]["bm25"] == {"rank": None, "top": ["echo.rs:1-3"]}
    assert rows[3]["targets"] == ["gone.rs:1-3:2"]
    assert len(rows[3]["misses"]["code"]["hybrid"]["top"]) == 3
    assert "bm25" not in rows[0]["misses"]["code"]


def test_the_same_input_gives_the_same_bytes(corpus: CodeCorpus, asked: CodeGold) -> None:
    first, second = (
        evaluate_code(corpus, asked, model="fake", cache=False, threads=threads)
        for threads in (1, 2)
    )
    assert first.to_json(timings=False) == second.to_json(timings=False)


def test_reasoning_is_an_arm_and_its_failures_are_shown(
    corpus: CodeCorpus, asked: CodeGold, tmp_path: Path
) -> None:
    hybrid = run(corpus, asked)["protocols"]["code"]["arms"]["hybrid"]
    exchanges = [
        {"query": "alpha", "content": "[1]"},
        {"query": "bravo charlie", "content": "[2]"},
        {"query": "zulu", "failure": "timeout"},
        {"query": "echo", "content": "I do not know."},
    ]
    file = tmp_path / "run.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in exchanges))
    settings = replace(load_config(folder=tmp_path).reasoning, final_top_k=4)
    record = run(corpus, asked, reasoner=Reasoner(settings, replay=file))
    assert record["reasoning"]["failures"] == {"prose": 1, "timeout": 1}
    assert record["reasoning"]["sentence"].startswith("reasoning: 2 of 4 calls failed")
    arms = record["protocols"]["code"]["arms"]
    assert arms["hybrid"] == hybrid
    assert arms["hybrid_reasoning"]["mean_output"] == 4
    assert [row.get("reasoning_failed") for row in record["queries"]] == [
        None, None, "timeout", "prose",
    ]  # fmt: skip
    # A failed call leaves the hybrid order; a query that fails is still asked and counted.
    assert arms["hybrid_reasoning"]["n"] == 4
    assert record["gain"]["code"]["title"] == "hybrid + reasoning over hybrid, Hit@5"


def test_gold_of_another_tree_is_refused(corpus: CodeCorpus, tmp_path: Path) -> None:
    elsewhere = gold(tmp_path, "q,other.rs:1-2:1,")
    with pytest.raises(InputError, match=r"no target of gold\.csv is in .*other\.rs:1-2"):
        run(corpus, elsewhere)
    with pytest.raises(InputError, match="depth is 5; expected 10 or more"):
        run(corpus, gold(tmp_path, "alpha,alpha.rs:1-2:1,"), depth=5)


@pytest.mark.parametrize("depth", [10, 12])
def test_curves_end_where_the_rankings_do(corpus: CodeCorpus, asked: CodeGold, depth: int) -> None:
    record = run(corpus, asked, depth=depth)
    arms = record["protocols"]["code"]["arms"]
    assert {len(arm["hits_at"]) for arm in arms.values()} == {depth}
    with pytest.raises(InputError, match=f"k is 20; the record holds 1 to {depth}"):
        fail_under(record, "hit@20[hybrid]=0.1")
