"""Bad input: one clear sentence, exit code 2, no traceback, nothing half-written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import FAKE, Run, assert_told


def edit(path: Path, change: Callable[[list[dict[str, object]]], object]) -> None:
    records = json.loads(path.read_text("utf-8"))
    changed = change(records)
    path.write_text(json.dumps(records if changed is None else changed), encoding="utf-8")


def test_missing_folder(run: Run, tmp_path: Path) -> None:
    assert_told(run("eval", tmp_path / "nowhere"), "nowhere", "no such file or folder")


def test_truncated_json(run: Run, folder: Path) -> None:
    text = (folder / "prs.json").read_text("utf-8")
    (folder / "prs.json").write_text(text[: len(text) // 2], encoding="utf-8")
    assert_told(run("eval", folder, *FAKE), "prs.json", "record 2")


@pytest.mark.parametrize("shape", [{"data": []}, [1, 2], [["a"]], "text", None])
def test_wrong_shape(run: Run, folder: Path, shape: object) -> None:
    (folder / "issues.json").write_text(json.dumps(shape), encoding="utf-8")
    assert_told(run("eval", folder, *FAKE), "issues.json", "expected")


@pytest.mark.parametrize("value", [None, "", "yesterday", 12.5, {}, "2024-13-01T00:00:00Z"])
def test_odd_created_at(run: Run, folder: Path, value: object) -> None:
    edit(folder / "issues.json", lambda records: records[1].update(createdAt=value))
    assert_told(run("eval", folder, *FAKE), "issues.json", "record 2", "createdAt")


def test_absent_number(run: Run, folder: Path) -> None:
    edit(folder / "prs.json", lambda records: records[0].pop("number") and None)
    assert_told(run("eval", folder, *FAKE), "prs.json", "record 1", "number")


def test_empty_corpus(run: Run, folder: Path) -> None:
    for name in ("issues.json", "prs.json"):
        (folder / name).write_text("[]")
    assert_told(run("eval", folder, *FAKE), "nothing to search")


def test_no_gold_pairs(run: Run, folder: Path) -> None:
    edit(folder / "prs.json", lambda records: [r.update(body="none") for r in records] and None)
    assert_told(run("eval", folder, *FAKE), "nothing to ask", "--links github+title")


def test_csv_with_other_columns(run: Run, tmp_path: Path) -> None:
    (tmp_path / "gold.csv").write_text("id,fix\n1,2\n")
    assert_told(
        run("eval", "--gold", tmp_path / "gold.csv"), "issue, pr, query, pr_title", "id, fix"
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("eval", ""),
        ("gold", "--prs", "", "--issues", ""),
        ("index", "demo", "--out", ""),
        ("search", "a symptom", ""),
        ("search", "a symptom", "--index", ""),
        ("grep", "x", ""),
        ("--config", "", "eval"),
    ],
)
def test_an_empty_name_stands_for_nothing(
    run: Run, arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert_told(run(*arguments), "it is empty; expected a path or a name")
    assert list(tmp_path.iterdir()) == []


def test_a_sweep_over_numbers_that_nobody_means(run: Run, folder: Path) -> None:
    outcome = run("sweep", folder, *FAKE, "--folder", folder, "--grid", f"budget={'9' * 30}")
    assert_told(outcome, "budget is 9999", "expected 1 to 100,000")


def test_a_list_of_what_nothing_gains(run: Run, folder: Path) -> None:
    assert_told(run("links", folder, "--list"), "--links github+title")


def test_only_one_of_the_two_files(run: Run, folder: Path) -> None:
    assert_told(run("eval", "--prs", folder / "prs.json"), "--prs and --issues go together")


@pytest.mark.parametrize(
    ("args", "parts"),
    [
        (("--links", "githb"), ("did you mean 'github'",)),
        (("--protocol", "leave-one"), ("did you mean 'leave-one-out'",)),
        (("--arm", "sematic"), ("did you mean 'semantic'",)),
        (("--budget", "0"), ("--budget", "1<=x<=100000")),
        (("--budget", "9" * 30), ("--budget", "1<=x<=100000")),
        (("--threads", "9" * 30), ("--threads", "1<=x<=100000")),
        (("--memory", "9" * 400 + "GB"), ("expected an amount such as 4GB",)),
        (("--max-drop", "nan"), ("--max-drop", "not a number")),
        (("--max-drop", "2"), ("--max-drop", "0<=x<=1")),
        (("--max-drop", "0.1"), ("--baseline",)),
        (("--out", ""), ("--out", "it is empty")),
        (("--budgt", "3"), ("--budget",)),
        (("--author-filter", "("), ("(", "pattern")),
        (("--model", "minlm"), ("did you mean minilm",)),
        (("--model", "nobody/nothing"), ("nobody/nothing", "fastrecall models --fetch")),
        (("--fail-under", "hits>3"), ("chain_hit@32[causal]=0.9",)),
        (("--baseline", "/no/such.json"), ("/no/such.json",)),
    ],
)
def test_bad_options(run: Run, folder: Path, args: tuple[str, ...], parts: tuple[str, ...]) -> None:
    model = () if "--model" in args else FAKE
    outcome = run("eval", folder, *model, *args)
    assert (outcome.code, outcome.out) == (2, "")
    assert "Traceback" not in outcome.err
    for part in parts:
        assert part in outcome.err


def test_output_that_cannot_be_written(run: Run, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    outcome = run("eval", folder, *FAKE, "--out", tmp_path / "file" / "r.json")
    assert_told(outcome, "cannot write")


def test_cache_that_cannot_be_written(
    run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FASTRECALL_CACHE", str(tmp_path / "file" / "cache"))
    assert_told(run("eval", folder), "--no-cache")
    assert run("eval", folder, "--no-cache").code == 0


def test_odd_texts_do_no_harm(run: Run, folder: Path) -> None:
    odd = [
        "lone \ud800 surrogate",
        "x" * 40_000,
        "a\r\nb\r\n",
        "\x00\x1b[31m",
        "👩‍👩‍👧 日本語 Привет",
    ]
    edit(
        folder / "issues.json",
        lambda records: (
            [r.update(body=t, title=t[:200]) for r, t in zip(records * 2, odd, strict=False)]
            and None
        ),
    )
    code, out, err = run("eval", folder, *FAKE, "--json")
    assert code == 0, err
    assert json.loads(out)["protocols"]["published"]["pairs"] == 3


def test_unknown_command(run: Run) -> None:
    assert_told(run("evla"), "Did you mean 'eval'")
