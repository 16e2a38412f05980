"""The document of stats: right on the demo, stable, quick, and readable as a table."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fastrecall.corpus import load_corpus
from fastrecall.corpus.build import make_corpus
from fastrecall.corpus.demo import demo_corpus, planted
from fastrecall.errors import InputError
from fastrecall.measure.intervals import wilson
from fastrecall.report.stats_table import render_stats
from fastrecall.study.stats import project_stats
from fastrecall.study.stats.rework import DAY, reverts_of, shared_links
from fastrecall.study.stats.titles import exact_groups, near_groups, normal_title
from fastrecall.types import Corpus, Links, Ticket

Stats = dict[str, Any]


@pytest.fixture(scope="module")
def demo() -> Corpus:
    return load_corpus("demo", author_filter=None)


@pytest.fixture(scope="module")
def stats(demo: Corpus) -> Stats:
    return project_stats(demo, model="fake", cache=False)


def numbers(refs: list[str]) -> tuple[int, ...]:
    return tuple(sorted(int(ref.rpartition("#")[2]) for ref in refs))


def pr(number: int, title: str, day: float = 0, kind: str = "pr") -> Ticket:
    return Ticket("a/b", kind, number, title, "", int(day * DAY))  # type: ignore[arg-type]


# The demo has exactly what was planted.


def test_the_demo_counts_agents_and_automation(stats: Stats) -> None:
    truth = planted()
    by_agent = stats["agents"]["by_agent"]
    for key in {*truth.agent_accounts, *truth.agent_texts}:
        assert numbers(by_agent[key]["accounts"]) == truth.agent_accounts.get(key, ())
        assert numbers(by_agent[key]["texts"]) == truth.agent_texts.get(key, ())
    agents = {
        number
        for by in (truth.agent_accounts, truth.agent_texts)
        for numbers in by.values()
        for number in numbers
    }
    assert (stats["agents"]["prs"], stats["agents"]["of"]) == (len(agents), 740)
    assert stats["agents"]["wilson95"] == list(wilson(len(agents), 740))
    assert sum(row["prs"] for row in stats["agents"]["months"]) == len(agents)
    automation = {login: len(prs) for login, prs in truth.bot_prs.items()}
    assert stats["automation"]["by_account"] == automation
    assert stats["automation"]["prs"] == sum(automation.values())


def test_the_demo_counts_work_that_returns(stats: Stats, demo: Corpus) -> None:
    truth, returns = planted(), stats["returns"]
    assert numbers(returns["reverts"]["refs"]) == tuple(sorted(pr for pr, _ in truth.reverts))
    assert returns["reverts"]["known"] == len(truth.reverts)
    assert returns["reverts"]["back"] == 6
    flaky = returns["flaky"]["issues"] + returns["flaky"]["prs"]
    assert numbers(flaky) == tuple(sorted(truth.flaky))
    assert numbers(returns["regression"]["issues"]) == truth.regressions
    assert returns["regression"]["prs"] == []
    assert returns["issues_of_several_prs"]["issues"] == len(truth.issues_of_several_prs)
    assert returns["prs_of_several_issues"]["prs"] == len(truth.prs_of_several_issues)
    groups = {
        tuple(sorted(demo.tickets[node].number for node in group))
        for kind in ("issue", "pr")
        for group in exact_groups(demo, kind)  # type: ignore[arg-type]
        if len(group) > 1
    }
    assert groups == set(truth.title_groups)
    exact = [stats["titles"][kind]["exact"] for kind in ("issues", "prs")]
    assert sum(block["groups"] for block in exact) == len(truth.title_groups)
    assert sum(block["tickets"] for block in exact) == sum(map(len, truth.title_groups))


# Titles.


@pytest.mark.parametrize(
    ("title", "same"),
    [
        ("Bump grpc from 1.2.3 to 1.10.0", "bump grpc from v2.0 to v2.1.0-rc1"),
        ("Sync docs 1a2b3c4d5e", "Sync docs 9f8e7d6c"),
        ("Refresh lock files 2024-01-02", "Refresh lock  files 2025-11-30"),
        ("[stable-24.1] Fix it (#12)", "[stable-24.2] Fix it (#9)"),
        ("Fix #12", "Fix 13"),
        ("test_7 is flaky", "test_12 is flaky"),
    ],
)
def test_titles_that_differ_in_numbers_only_are_the_same(title: str, same: str) -> None:
    assert normal_title(title) == normal_title(same)


@pytest.mark.parametrize(
    ("title", "other"),
    [
        ("Fix the cache", "Fix the caches"),
        ("Bump grpc from 1 to 2", "Bump zlib from 1 to 2"),
        ("Sync docs defaced", "Sync docs effaced"),
        ("Move v", "Move 1"),
    ],
)
def test_titles_that_differ_in_words_are_not(title: str, other: str) -> None:
    assert normal_title(title) != normal_title(other)


def test_titles_without_letters_stay_alone() -> None:
    corpus = make_corpus([pr(1, "#1"), pr(2, "#2"), pr(3, "2024")], name="x")
    assert exact_groups(corpus, "pr") == [(0,), (1,), (2,)]


def test_issues_and_prs_are_not_mixed() -> None:
    corpus = make_corpus([pr(1, "Fix 1"), pr(2, "Fix 2", kind="issue"), pr(3, "Fix 3")], name="x")
    assert exact_groups(corpus, "pr") == [(1, 2)]
    assert exact_groups(corpus, "issue") == [(0,)]


def test_near_groups_are_the_components_of_the_near_pairs() -> None:
    rng = np.random.default_rng(5)
    vectors = rng.normal(size=(60, 3)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    groups = [(node,) for node in range(60)]
    found = near_groups(groups, vectors, threshold=0.97, neighbours=59)
    near = vectors @ vectors.T >= 0.97
    for _ in range(6):  # walks of up to 64 steps
        near = (near @ near) > 0
    assert {frozenset(group) for group in found} == {
        frozenset(np.flatnonzero(row).tolist()) for row in near
    }


def test_near_groups_of_nothing_and_of_one() -> None:
    nothing = np.empty((0, 3), np.float32)
    assert near_groups([], nothing, threshold=0.9, neighbours=16) == []
    one = np.ones((1, 3), np.float32)
    assert near_groups([(4, 5)], one, threshold=0.9, neighbours=16) == [(4, 5)]


def test_a_lower_threshold_never_makes_more_tickets_lonely(demo: Corpus) -> None:
    covered = [
        project_stats(demo, model="fake", cache=False, threshold=t)["titles"]["prs"]["near"][
            "tickets"
        ]
        for t in (1.0, 0.8, 0.5)
    ]
    assert covered == sorted(covered)


# How long until it came back.


def test_gaps_are_days_between_neighbours_in_time() -> None:
    tickets = [pr(1, "Fix 1", 10), pr(2, "Fix 2", 0), pr(3, "Fix 3", 4), pr(4, "Other", 5)]
    stats = project_stats(make_corpus(tickets, name="x"), model="fake", cache=False)
    block = stats["titles"]["prs"]["exact"]
    assert (block["groups"], block["tickets"], block["sizes"]) == (1, 3, {"3": 1})
    assert block["median_days_between"] == 5.0
    (top,) = block["top"]
    assert (top["title"], top["first"], top["last"], top["days"]) == (
        "Fix 2", "a/b#2", "a/b#1", 10.0,
    )  # fmt: skip


def test_what_was_reverted_may_come_back_under_several_names() -> None:
    for again in ('Reapply "Add it"', "Add it", 'Revert "Revert "Add it""', "Reland: Add it"):
        tickets = [pr(1, "Add it", 0), pr(3, 'Revert "Add it"', 2), pr(5, again, 9)]
        found = reverts_of(make_corpus(tickets, name="x"))
        assert (0, 1) not in found.back
        assert found.back == [(1, 2)], again


def test_several_links_are_counted_from_both_ends() -> None:
    ids = np.array([[0, 5], [0, 6], [1, 6], [2, 7]], np.int32)
    links = Links(ids[:, 0], ids[:, 1], np.ones(4, np.uint8))
    assert shared_links(links) == ({0: [5, 6]}, {6: [0, 1]})


# The whole.


def test_equal_input_gives_equal_figures(demo: Corpus, stats: Stats) -> None:
    again = project_stats(demo, model="fake", cache=False, threads=1)
    assert {**again, "timings": 0} == {**stats, "timings": 0}


def test_a_corpus_without_prs_or_issues_is_no_error() -> None:
    for kind in ("issue", "pr"):
        corpus = make_corpus([pr(1, "One", kind=kind)], name="x")
        stats = project_stats(corpus, model="fake", cache=False)
        text = render_stats(stats, width=80, color=False)
        assert "x: " in text


def test_a_threshold_that_is_no_cosine_is_refused(demo: Corpus) -> None:
    with pytest.raises(InputError, match="threshold is 95"):
        project_stats(demo, threshold=95)


@pytest.mark.parametrize("width", [60, 100, 160])
def test_the_table_fits_its_page_and_shows_the_figures(stats: Stats, width: int) -> None:
    lines = render_stats(stats, width=width, color=False).splitlines()
    assert max(map(len, lines)) <= width
    text = " ".join(" ".join(lines).split())
    assert f"at least {stats['agents']['prs']} of 740 PRs" in text
    assert "lattice-bot" in text


def test_titles_of_strangers_cannot_move_the_cursor() -> None:
    tickets = [pr(1, "Fix \x1b[2J it 1"), pr(2, "Fix \x1b[2J it 2")]
    stats = project_stats(make_corpus(tickets, name="x"), model="fake", cache=False)
    assert "\x1b" not in render_stats(stats, width=100, color=False)


def test_20_000_tickets_take_less_than_five_seconds() -> None:
    corpus = demo_corpus(nodes=20_000, window_prs=None, window_issues=None, author_filter=None)
    began = time.process_time()
    stats = project_stats(corpus, model="fake", cache=False)
    # Processor time, which other programs on the machine do not change; the fake model's share of
    # it is about what reading cached vectors takes.
    assert time.process_time() - began < 10
    assert stats["corpus"]["issues"] + stats["corpus"]["prs"] == 20_000


def test_the_command_prints_a_table_or_pure_json(tmp_path: Path) -> None:
    def call(*args: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "fastrecall", "stats", "--model", "fake", *args]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    shown = call()
    assert shown.returncode == 0
    assert "Coding agents: at least 39 of 740 PRs" in shown.stdout
    document = json.loads(call("--json", "--links", "github+title").stdout)
    assert document["settings"]["links"] == ["github", "title"]
    wrong = call("--traces", str(tmp_path / "nothing.toml"))
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "cannot read" in wrong.stderr


@pytest.mark.parametrize("name", ["tls13-spec", "mls-protocol", "merged"])
def test_real_corpora_are_read_without_a_fault(corpora: Path, name: str) -> None:
    corpus = load_corpus(corpora / name, window_prs=None, window_issues=None, author_filter=None)
    stats = project_stats(corpus, model="fake", cache=False)
    assert stats["agents"]["of"] == stats["corpus"]["prs"]
    assert render_stats(stats, width=100, color=False)
