"""``fastrecall config``, and what the settings file does to the commands."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import click
import pytest
from tests.cli.conftest import FAKE, Run, assert_told

from fastrecall._toml import loads
from fastrecall.cli._config import option_defaults
from fastrecall.cli.app import app
from fastrecall.config import EvalSettings, default_text, load_config


def changed(path: Path, *changes: tuple[str, str]) -> Path:
    text = default_text()
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")
    return path


def options_of(name: str) -> set[str]:
    command = app.get_command(click.Context(app), name)
    assert command is not None
    return {str(parameter.name) for parameter in command.params}


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


def test_init_writes_the_defaults_and_overwrites_only_when_forced(run: Run, tmp_path: Path) -> None:
    code, out, err = run("config", "init")
    assert (code, out) == (0, "")
    assert "settings written to fastrecall.toml" in err
    assert Path("fastrecall.toml").read_text("utf-8") == default_text()
    assert_told(run("config", "init"), "fastrecall.toml exists", "--force")
    Path("fastrecall.toml").write_text("mine")
    assert run("config", "init", "--force").code == 0
    assert Path("fastrecall.toml").read_text("utf-8") == default_text()
    assert run("config", "init", tmp_path / "sub" / "other.toml").code == 0
    assert (tmp_path / "sub" / "other.toml").is_file()


def test_show_says_what_was_tried_and_prints_a_settings_file(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("config", "show")
    assert code == 0
    assert "fastrecall.toml: not there" in out
    assert "no file was read" in out
    assert loads(out) == loads(default_text())

    changed(Path("fastrecall.toml"), ("budget = 32", "budget = 16"))
    out = run("config", "show").out
    assert "fastrecall.toml: read" in out
    assert "config.toml: not needed" in out
    assert loads(out)["eval"]["budget"] == 16

    other = changed(tmp_path / "other.toml", ("depth = 3", "depth = 2"))
    shown = json.loads(run("--config", other, "config", "show", "--json").out)
    assert shown["files"] == [{"path": str(other), "state": "read"}]
    assert shown["settings"]["eval"]["depth"] == 2
    assert shown["settings"]["search.reasoning"] == asdict(load_config(other).reasoning)


def test_info_lists_the_settings_files_even_when_one_is_broken(run: Run) -> None:
    Path("fastrecall.toml").write_text("broken")
    facts = json.loads(run("info", "--json").out)
    assert facts["settings files"][0].endswith("fastrecall.toml (read)")
    assert facts["settings files"][1].endswith("config.toml (not needed)")


def test_every_key_of_eval_is_the_default_of_an_option_of_that_name() -> None:
    keys = {field.name for field in fields(EvalSettings)}
    assert option_defaults(load_config(folder=Path("/nowhere")), "eval").keys() == keys
    assert keys <= options_of("eval")
    assert keys <= options_of("sweep")
    read_by_gold = {"links", "window_prs", "window_issues", "author_filter"}
    assert keys & options_of("gold") == keys & options_of("links") == read_by_gold


def test_the_file_gives_the_defaults_of_eval_and_the_command_line_wins(
    run: Run, folder: Path
) -> None:
    changed(
        Path("fastrecall.toml"),
        ('model = "minilm"', 'model = "fake"'),
        ('protocols = ["all"]', 'protocols = ["published"]'),
        ('query = "title"', 'query = "title+body"'),
        ("budget = 32", "budget = 5"),
        ("depth = 3", "depth = 2"),
        ("undirected = false", "undirected = true"),
        ('links = ["published"]', 'links = ["github", "title"]'),
        ("window_prs = 11000", "window_prs = 2"),
    )

    def settings(*args: object) -> dict[str, Any]:
        code, out, err = run("eval", folder, "--json", *args)
        assert code == 0, err
        record: dict[str, Any] = json.loads(out)
        return record["settings"] | {"prs": record["corpus"]["prs"], "model": record["model"]["id"]}

    read = settings()
    assert {name: read[name] for name in ("budget", "depth", "undirected", "query", "prs")} == {
        "budget": 5, "depth": 2, "undirected": True, "query": "title+body", "prs": 2,
    }  # fmt: skip
    assert read["protocols"] == ["published"]
    assert read["links"] == ["github", "title"]
    assert "fake" in read["model"]
    told = settings(
        "--budget", 4, "--directed", "--links", "published", "--protocol", "all",
        "--window-prs", 3, "--query", "title",
    )  # fmt: skip
    assert (told["budget"], told["undirected"], told["prs"]) == (4, False, 3)
    assert told["links"] == ["published"]
    assert "leave-one-out" in told["protocols"]
    assert told["depth"] == 2


def test_the_author_filter_of_the_file_and_none_at_all(run: Run, folder: Path) -> None:
    changed(Path("fastrecall.toml"), ('"^(ydbot', '"^(ann|ydbot'))
    assert_told(run("eval", folder, *FAKE), "no")
    kept = run("eval", folder, *FAKE, "--author-filter", "", "--json")
    assert json.loads(kept.out)["corpus"]["prs"] == 3
    assert len(run("gold", folder, "--author-filter", "").out.splitlines()) == 4
    assert len(run("gold", folder).out.splitlines()) == 1


def test_an_index_takes_model_and_window_of_the_file_but_follows_all_links(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FASTRECALL_DATA", str(tmp_path / "data"))
    changed(
        Path("fastrecall.toml"),
        ('model = "minilm"', 'model = "fake"'),
        ("window_issues = 8000", "window_issues = 2"),
    )
    prs = json.loads((folder / "prs.json").read_text())
    prs[2].update(title="Fixes #3: change 3", body="")
    (folder / "prs.json").write_text(json.dumps(prs))
    told = run("search", "Symptom 2", folder, "--json")
    assert "has no index yet" in told.err
    by_search = json.loads(told.out)["corpus"]
    by_index = json.loads(run("index", folder, "--json").out)
    assert by_index["model"] == "fake"
    assert by_search.items() <= by_index.items()
    assert (by_index["issues"], by_index["prs"], by_index["links"]) == (2, 3, 2)
    assert json.loads(run("index", folder, "--json", "--window-issues", 3).out)["issues"] == 3


def test_a_sweep_starts_from_the_file(run: Run, folder: Path, tmp_path: Path) -> None:
    changed(
        Path("fastrecall.toml"),
        ('protocols = ["all"]', 'protocols = ["published"]'),
        ("depth = 3", "depth = 1"),
    )
    where = ("sweep", folder, *FAKE, "--folder", tmp_path / "sweep", "--grid", "budget=1,2")
    assert_told(run(*where), "protocol 'leave-one-out' is unknown", "published")
    assert run(*where, "--rank-by", "published/causal").code == 0
    kept = [json.loads(path.read_text("utf-8")) for path in (tmp_path / "sweep").iterdir()]
    assert {record["settings"]["depth"] for record in kept} == {1}
    assert {record["settings"]["budget"] for record in kept} == {1, 2}


def test_a_wrong_file_is_named_and_commands_without_settings_do_not_read_it(
    run: Run, folder: Path
) -> None:
    changed(Path("fastrecall.toml"), ("budget = 32", "buget = 32"))
    assert_told(run("eval", folder), "fastrecall.toml", "eval.buget", "did you mean eval.budget")
    assert_told(run("--config", "none.toml", "gold", folder), "none.toml", "cannot read settings")
    assert run("models").code == 0


def test_help_is_given_even_when_the_file_is_wrong_and_tells_its_defaults_when_not(
    run: Run,
) -> None:
    file = changed(
        Path("fastrecall.toml"),
        ('protocols = ["all"]', 'protocols = ["past-only"]'),
        ('author_filter = "^(ydbot|', 'author_filter = "^(somebody|'),
        ("depth = 3", "depth = 7"),
    )
    told = " ".join(run("eval", "--help").out.split())
    for default in ("[default: past-only]", "[default: ^(somebody|", "[default: 7;"):
        assert default in told
    file.write_text("[eval", encoding="utf-8")
    code, out, err = run("eval", "--help")
    assert (code, out[:6]) == (0, "Usage:")
    assert "fastrecall.toml is not TOML" in err
    assert run("eval", "--out", "x").code == 2


def test_nobody_needs_a_home(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.delenv("APPDATA")
    monkeypatch.setattr(Path, "home", homeless)
    monkeypatch.delenv("FASTRECALL_CACHE")
    assert run("gold", folder).code == 0
    assert "none: no home folder for the cache" in run("info").out


@pytest.mark.skipif(os.name == "nt", reason="a folder that is in use stays")
def test_a_folder_that_is_gone_is_told(run: Run, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    os.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert_told(run("gold", folder), "the current folder was removed")
