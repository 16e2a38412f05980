"""``fastrecall eval`` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.cli.conftest import FAKE, Run


def test_the_demo_says_that_it_is_generated_and_how_to_go_on(run: Run) -> None:
    code, out, _ = run("eval", *FAKE)
    assert code == 0
    assert "generated" in out
    assert "fastrecall eval" in out
    assert "/293" in out
    assert "own issue ranked first for" in out


def test_json_is_pure_and_equals_the_file(run: Run, folder: Path, tmp_path: Path) -> None:
    code, out, _ = run("eval", folder, *FAKE, "--json", "--out", tmp_path / "r.json")
    assert code == 0
    printed, kept = json.loads(out), json.loads((tmp_path / "r.json").read_text("utf-8"))
    assert printed == kept
    assert printed["protocols"]["published"]["arms"]["causal"]["hits"] == 3


def test_a_budget_as_large_as_the_corpus_is_called_worthless(run: Run, folder: Path) -> None:
    assert "proves nothing" in run("eval", folder, *FAKE, "--budget", 6).out
    assert "proves nothing" not in run("eval", folder, *FAKE, "--budget", 5).out


def test_a_gold_file_alone_makes_a_corpus_of_its_titles(run: Run, tmp_path: Path) -> None:
    gold = tmp_path / "gold.csv"
    gold.write_bytes("\ufeffissue;pr;query;pr_title\r\n1;2;Crash;Fix it\r\n".encode())
    code, out, _ = run("eval", "--gold", gold, *FAKE)
    assert code == 0
    assert "1 issue, 1 PR, 1 gold pair" in out
    assert "flatters" in out


def test_given_and_found_pairs_are_compared(run: Run, folder: Path, tmp_path: Path) -> None:
    gold = tmp_path / "gold.csv"
    gold.write_text("issue,pr,query,pr_title\n1,11,Symptom 1,Change 1\n2,13,Symptom 2,Change 3\n")
    prs, issues = folder / "prs.json", folder / "issues.json"
    code, out, err = run("eval", "--prs", prs, "--issues", issues, "--gold", gold, *FAKE)
    assert code == 0
    assert "2 gold pairs" in out
    assert "only given: issue #2, PR #13: Symptom 2" in err
    assert "only found: issue #2, PR #12: Symptom 2" in err


def test_gold_writes_the_articles_columns(run: Run, folder: Path) -> None:
    code, out, _ = run("gold", folder)
    assert code == 0
    assert out.splitlines()[:2] == ["issue,pr,query,pr_title", "1,11,Symptom 1,Change 1"]


def test_trec_files_score_to_the_same_numbers(run: Run, tmp_path: Path) -> None:
    record = json.loads(run("eval", *FAKE, "--json", "--trec", tmp_path / "trec").out)
    for protocol in ("published", "leave-one-out"):
        for arm in ("semantic", "causal"):
            qrels = tmp_path / "trec" / f"{protocol}.qrels"
            ranked = tmp_path / "trec" / f"{protocol}.{arm}.run"
            scored = run(
                "score", "--run", ranked, "--qrels", qrels, "--metric", "chain_hit@32", "--json"
            )
            [row] = json.loads(scored.out)
            assert row["hits"] == record["protocols"][protocol]["arms"][arm]["hits"]


def test_gates_decide_the_exit_code_and_say_the_same(
    run: Run, folder: Path, tmp_path: Path
) -> None:
    passed = run("eval", folder, *FAKE, "--fail-under", "chain_hit@32[causal]=1.0")
    assert passed.code == 0
    assert "pass: chain_hit@32[published/causal] is 1.0000" in passed.err
    junit = tmp_path / "junit.xml"
    failed = run(
        "eval", folder, *FAKE, "--fail-under", "chain_hit@1[causal]=1.0",
        "--fail-under", "chain_hit@32[causal]=0.5", "--bound", "lower", "--junit", junit,
    )  # fmt: skip
    assert failed.code == 1
    assert failed.err.count("FAIL") == int(ElementTree.parse(junit).getroot().attrib["failures"])


def test_a_baseline_guards_against_a_drop(run: Run, folder: Path, tmp_path: Path) -> None:
    good, other = tmp_path / "good.json", tmp_path / "other.json"
    run("eval", folder, *FAKE, "--out", good)
    assert run("eval", folder, *FAKE, "--baseline", good).code == 0
    worse = run("eval", folder, *FAKE, "--budget", 1, "--baseline", good, "--max-drop", 0.1)
    assert worse.code == 1
    run("eval", "--out", other, *FAKE)
    refused = run("eval", folder, *FAKE, "--baseline", other)
    assert refused.code == 2
    assert "different corpus" in refused.err


def test_a_step_summary_is_appended(
    run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    run("eval", folder, *FAKE, "--fail-under", "mrr[causal]=0.1")
    text = summary.read_text("utf-8")
    assert text.startswith("before\n## Recall of past fixes")
    assert "- pass: mrr[published/causal]" in text


def test_compare_lists_what_changed_sides(run: Run, folder: Path, tmp_path: Path) -> None:
    wide, narrow = tmp_path / "wide.json", tmp_path / "narrow.json"
    run("eval", folder, *FAKE, "--out", wide)
    run("eval", folder, *FAKE, "--budget", 1, "--out", narrow)
    told = run("compare", wide, narrow)
    assert told.code == 0
    assert "setting budget: 32 → 1" in told.out
    assert "lost" in told.out
    assert "#1 → #11" in told.out


def test_a_sweep_is_resumed_and_marks_no_best_in_noise(
    run: Run, folder: Path, tmp_path: Path
) -> None:
    where = ("--folder", tmp_path / "sweep", "--grid", "budget=2,3", "--grid", "depth=1,3")
    first = run("sweep", folder, *FAKE, *where)
    assert first.code == 0
    assert "no setting is clearly the best" in first.out
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "sweep").iterdir()}
    assert len(files) == 4
    assert run("sweep", folder, *FAKE, *where).out == first.out
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "sweep").iterdir()} == files


@pytest.mark.parametrize("width", [48, 60, 80, 120, 200])
def test_tables_fit_any_width(run: Run, folder: Path, tmp_path: Path, width: int) -> None:
    from fastrecall.study import Record

    run("eval", folder, *FAKE, "--out", tmp_path / "r.json")
    table = Record.load(tmp_path / "r.json").table(width=width)
    assert max(map(len, table.splitlines())) <= width
    assert "causal" in table
    assert "3/3" in table


def test_pairs_whose_prs_share_a_number_in_two_repositories_stay_apart(
    run: Run, tmp_path: Path
) -> None:
    gold = tmp_path / "gold.csv"
    lines = [
        "issue,pr,query,pr_title,repo,pr_repo",
        "1,5,Cache is stale,Cache is stale no more,o/app,o/app",
        "1,5,Cache is stale,Rewrite the parser,o/app,o/lib",
        "2,6,Parser fails,Parser works,o/lib,o/lib",
    ]
    gold.write_text("\n".join(lines) + "\n")
    wide, narrow = tmp_path / "wide.json", tmp_path / "narrow.json"
    run("eval", "--gold", gold, *FAKE, "--out", wide)
    run("eval", "--gold", gold, *FAKE, "--out", narrow, "--budget", 2)
    record = json.loads(wide.read_text("utf-8"))
    asked = [
        (row["repo"], row["issue"], row.get("pr_repo"), row["pr"]) for row in record["queries"]
    ]
    assert asked == [("o/app", 1, None, 5), ("o/app", 1, "o/lib", 5), ("o/lib", 2, None, 6)]
    assert record["tickets"]["o/lib#5"]["title"] == "Rewrite the parser"
    compared = json.loads(run("compare", wide, narrow, "--json").out)
    semantic = next(row for row in compared["rows"] if row["arm"] == "semantic")
    assert semantic["pairs"] == 3
    assert "o/app#1 → o/lib#5" in semantic["lost"]
