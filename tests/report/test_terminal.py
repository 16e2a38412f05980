"""What strangers wrote steers no terminal, whichever table shows it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from fastrecall.corpus import make_corpus
from fastrecall.corpus.code import load_code
from fastrecall.corpus.code_gold import load_code_gold
from fastrecall.report.compare_table import render_comparison
from fastrecall.report.links_table import render_links
from fastrecall.report.stats_table import render_stats
from fastrecall.report.sweep_table import render_sweep
from fastrecall.study import Record, evaluate
from fastrecall.study.code_eval import evaluate_code
from fastrecall.study.compare import compare
from fastrecall.study.stats import project_stats
from fastrecall.types import Corpus, Ticket

STEERING = "\x1b]0;owned\x07\x1b[2J\x9b31m\r\u202eevil\u2066"
FAKE: dict[str, Any] = {"model": "fake", "cache": False}
STYLES = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    tickets = []
    for n in range(1, 31):
        title = f"symptom {n} {STEERING}"
        tickets.append(Ticket(f"o/r{STEERING}", "issue", n, title, "", n))
        prs = Ticket(f"o/r{STEERING}", "pr", n + 100, f"Revert {title}", f"Fixes #{n}", n + 5)
        tickets.append(prs)
    return make_corpus(tickets, name=f"name {STEERING}", notes=(f"note {STEERING}",))


def harmless(text: str) -> None:
    assert "‹U+001B›" in text
    text = STYLES.sub("", text)
    assert all(character.isprintable() or character == "\n" for character in text)


@pytest.mark.parametrize("color", [False, True])
def test_tables_of_records(corpus: Corpus, color: bool) -> None:
    record = evaluate(corpus, budget=4, **FAKE)
    harmless(record.table(color=color))
    other = evaluate(corpus, budget=2, **FAKE)
    harmless(render_comparison(compare(record, other), width=90, color=color))
    arm = record["protocols"]["published"]["arms"]["causal"]
    row = {**arm, "point": f"model={STEERING}", "best": True}
    harmless(render_sweep([row], ranked_by="published/causal", width=90, color=color))


@pytest.mark.parametrize("color", [False, True])
def test_tables_of_histories(corpus: Corpus, color: bool) -> None:
    stats = project_stats(corpus, **FAKE)
    harmless(render_stats(stats, width=90, color=color))
    record = evaluate(corpus, protocols=["published"], **FAKE)
    links = dict(record["links"])
    links["sources"] = {f"{name}{STEERING}": one for name, one in links["sources"].items()}
    links["both"] = {f"{name}{STEERING}": one for name, one in links["both"].items()}
    harmless(render_links(links, width=140, color=color))


def test_tables_of_code(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    for place in range(12):
        (tree / f"{place}\x1b[2J\u202e.rs").write_text(f"fn name{place}() {{}}\n")
    (tmp_path / "gold.csv").write_text(
        "query,result1\nzulu \x1b[2J\x9b31m,1\x1b[2J\u202e.rs:1-1:1\nnothing,gone\x1b[2J.rs:1-1:1\n"
    )
    gold = load_code_gold(tmp_path / "gold.csv")
    record: Record = evaluate_code(load_code(tree), gold, **FAKE)
    harmless(record.table(misses=True))
