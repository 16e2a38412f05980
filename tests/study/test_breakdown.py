"""Break-downs against counts made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fastrecall.corpus import find_links, gold_from_links, make_corpus
from fastrecall.measure.intervals import wilson
from fastrecall.study import evaluate
from fastrecall.study.breakdown import DAY, break_down, group_pairs, jaccard, script_of
from fastrecall.study.protocols import PROTOCOLS, Case
from fastrecall.study.settings import Settings
from fastrecall.types import Corpus, Ticket

START = 1_577_836_800  # 2020-01-01

# fmt: off
TICKETS = (
    Ticket("", "issue", 1, "Crash on start", "", START),
    Ticket("", "issue", 2, "Падает при старте", "b" * 299, START),
    Ticket("", "issue", 3, "死锁", "b" * 300, START),
    Ticket("", "issue", 4, "Slow query planner", "b" * 1000, START - 1),
    Ticket("", "issue", 5, "42", "b", START),
    Ticket("", "pr", 11, "Crash on start", "Fixes #1", START + DAY - 1),
    Ticket("", "pr", 12, "Rework locks", "Fixes #2, fixes #3", START + DAY),
    Ticket("", "pr", 13, "Slow statistics (fixes #4)", "Fixes #4", START + 29 * DAY),
    Ticket("", "pr", 14, "Answer", "Fixes: #5", START - DAY),
)
# fmt: on
FOUND = np.array([True, False, True, True, False])


@pytest.fixture
def corpus() -> Corpus:
    return make_corpus(TICKETS, name="by hand")


@pytest.fixture
def blocks(corpus: Corpus) -> dict[str, Any]:
    found = find_links(corpus)
    links = found.of("published", "github")
    gold = gold_from_links(corpus, links, ("published", "github"))
    settings = Settings(protocols=("published",), links=("published", "github"))
    case = Case(corpus, links, gold, settings, found)
    asked = PROTOCOLS["published"].ask(case)
    assert [pair.issue for pair in asked.pairs] == [1, 2, 3, 4, 5]
    return break_down(group_pairs(case, asked), {"causal": FOUND, "bm25": ~FOUND})


def counted(block: dict[str, Any]) -> dict[str, tuple[int, int]]:
    return {row["label"]: (row["arms"]["causal"]["hits"], row["pairs"]) for row in block["rows"]}


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("issues_per_pr", {"1": (2, 3), "2": (1, 2)}),
        ("link_source", {"published": (3, 4), "github": (3, 5), "title": (1, 1)}),
        ("script", {"Latin": (2, 2), "Cyrillic": (0, 1), "CJK": (1, 1), "no letters": (0, 1)}),
        (
            "time_to_pr",
            {
                "PR came first": (0, 1),
                "within a day": (1, 1),
                "within a week": (1, 2),
                "within 30 days": (1, 1),
            },
        ),
        ("year", {"2019": (1, 1), "2020": (2, 4)}),
        ("overlap", {"none": (1, 3), "0.25 to 0.5": (1, 1), "0.5 or more": (1, 1)}),
        (
            "body",
            {"empty": (1, 1), "below 300": (0, 2), "300 to 999": (1, 1), "1,000 or more": (1, 1)},
        ),
    ],
)  # fmt: skip
def test_groups_and_hits(blocks: dict[str, Any], key: str, expected: dict[str, Any]) -> None:
    assert counted(blocks[key]) == expected


def test_rows_carry_wilsons_interval_and_only_the_chosen_arms(blocks: dict[str, Any]) -> None:
    row = blocks["script"]["rows"][0]
    assert list(row["arms"]) == ["causal"]
    assert row["arms"]["causal"] == {"hits": 2, "rate": 1.0, "wilson95": list(wilson(2, 2))}


def test_groups_are_told_from_what_was_asked() -> None:
    """Not from the title, when bodies ask."""
    body = "Переписать locks"
    tickets = (
        Ticket("", "issue", 1, "Rework of it", body, START),
        Ticket("", "pr", 2, "Rework locks", "Fixes #1", START + DAY),
    )
    corpus = make_corpus(tickets, name="two")
    record = evaluate(corpus, model="fake", cache=False, query="body", budget=1)
    blocks = record["breakdowns"]["published"]
    assert [row["label"] for row in blocks["script"]["rows"]] == ["mixed"]
    assert [row["label"] for row in blocks["overlap"]["rows"]] == ["0.25 to 0.5"]
    assert jaccard(body, "Rework locks") == pytest.approx(1 / 3)


def test_what_titles_alone_cannot_tell_is_left_out() -> None:
    from fastrecall.corpus import GoldRow, corpus_from_gold, gold_from_rows

    rows = [GoldRow(1, 2, "Crash", "Fix it"), GoldRow(3, 4, "Hang", "Mend it")]
    made = corpus_from_gold(rows)
    record = evaluate(made, gold=gold_from_rows(made, rows), model="fake", cache=False, budget=1)
    keys = {"issues_per_pr", "link_source", "script", "overlap"}
    assert set(record["breakdowns"]["published"]) == keys


def test_groups_that_exclude_each_other_hold_every_pair_once() -> None:
    import fastrecall as fr

    record = fr.evaluate(fr.load_corpus("demo"), model="fake", cache=False)
    for protocol, blocks in record["breakdowns"].items():
        pairs = record["protocols"][protocol]["pairs"]
        for key, block in blocks.items():
            if key != "link_source":
                assert sum(row["pairs"] for row in block["rows"]) == pairs, (protocol, key)
                for arm, numbers in record["protocols"][protocol]["arms"].items():
                    if arm in block["rows"][0]["arms"]:
                        hits = sum(row["arms"][arm]["hits"] for row in block["rows"])
                        assert hits == numbers["hits"]


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("naïve café", "Latin"),
        ("Ошибка 500", "Cyrillic"),
        ("Ошибка в std::map<int>", "mixed"),
        ("クラッシュする", "CJK"),
        ("서버가 멈춤", "CJK"),
        ("ＡＢＣ", "Latin"),
        ("Σφάλμα", "another script"),
        ("404 → 500", "no letters"),
        ("", "no letters"),
    ],
)
def test_scripts(text: str, script: str) -> None:
    assert script_of(text) == script


def test_overlap_is_a_share_of_terms() -> None:
    assert jaccard("", "") == 0
    assert jaccard("#1", "fixes #1") == 0
    assert jaccard("a b c", "b c d") == 0.5
    assert jaccard("same words", "SAME words!") == 1
