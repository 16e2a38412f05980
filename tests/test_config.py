"""Strict settings: every key, no other key, and the file that was read is known."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from fastrecall import config
from fastrecall._toml import loads
from fastrecall.config import (
    EvalSettings,
    IndexSettings,
    ReasoningSettings,
    config_init,
    default_text,
    load_config,
    user_config_path,
)
from fastrecall.corpus.window import AUTHOR_FILTER, WINDOW_ISSUES, WINDOW_PRS
from fastrecall.errors import InputError
from fastrecall.study.protocols import PROTOCOLS
from fastrecall.study.settings import Settings
from fastrecall.types import LINK_SOURCES


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    monkeypatch.setenv("APPDATA", str(home))
    return home


def changed(tmp_path: Path, old: str, new: str) -> Path:
    text = default_text()
    assert text.count(old) == 1
    file = tmp_path / "changed.toml"
    file.write_text(text.replace(old, new), encoding="utf-8")
    return file


def test_the_shipped_file_holds_exactly_the_known_keys_each_with_a_comment() -> None:
    document = loads(default_text())
    sections = {
        "eval": (EvalSettings, document["eval"]),
        "index": (IndexSettings, document["index"]),
        "reasoning": (ReasoningSettings, document["search"]["reasoning"]),
    }
    for kind, table in sections.values():
        assert [field.name for field in fields(kind)] == list(table)
    lines = default_text().splitlines()
    for number, line in enumerate(lines):
        if line and not line.startswith(("#", "[")):
            assert lines[number - 1].startswith("#") or "window_" in line


def test_the_defaults_are_those_of_the_rooms_they_speak_to() -> None:
    settings = load_config().eval
    assert settings.author_filter == AUTHOR_FILTER
    assert settings.protocols == ("all",)
    assert (settings.window_prs, settings.window_issues) == (WINDOW_PRS, WINDOW_ISSUES)
    # Every protocol and link source there is can be named in the file.
    assert tuple(PROTOCOLS) == config._PROTOCOLS
    assert config._LINKS == LINK_SOURCES
    reach = Settings(protocols=settings.protocols)
    for name in ("budget", "depth", "undirected", "links", "query"):
        assert getattr(settings, name) == getattr(reach, name)
    assert settings.model == "minilm"


def test_reasoning_defaults_are_the_published_ones() -> None:
    reasoning = load_config().reasoning
    assert not reasoning.enabled
    assert (reasoning.max_candidates, reasoning.reasoning_weight) == (25, 2.0)
    assert (reasoning.final_top_k, reasoning.k, reasoning.temperature) == (10, 60, 1.0)
    assert reasoning.context_characters == 4000


def test_init_writes_a_file_that_loads_and_keeps_what_is_there(tmp_path: Path) -> None:
    file = config_init(tmp_path / "sub" / "fastrecall.toml")
    assert file.read_text(encoding="utf-8") == default_text()
    assert load_config(file).source == file
    with pytest.raises(InputError, match=r"exists; choose another name"):
        config_init(file)
    file.write_text("changed")
    assert config_init(file, overwrite=True).read_text(encoding="utf-8") == default_text()


def test_the_first_place_with_a_file_is_read_alone(tmp_path: Path, home: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    defaults = load_config(folder=project)
    assert defaults.source is None
    assert [tried.state for tried in defaults.tried] == ["not there", "not there"]

    config_init(user_config_path())
    assert user_config_path() == home / "fastrecall" / "config.toml"
    assert load_config(folder=project).source == user_config_path()

    local = project / "fastrecall.toml"
    local.write_text(default_text().replace("budget = 32", "budget = 16"), encoding="utf-8")
    loaded = load_config(folder=project)
    assert (loaded.source, loaded.eval.budget) == (local, 16)
    assert [tried.state for tried in loaded.tried] == ["read", "not needed"]

    explicit = changed(tmp_path, "budget = 32", "budget = 8")
    loaded = load_config(explicit, folder=project)
    assert loaded.eval.budget == 8
    assert [tried.path for tried in loaded.tried] == [explicit]


def test_the_current_folder_is_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config_init(tmp_path / "fastrecall.toml")
    monkeypatch.chdir(tmp_path)
    assert load_config().source == tmp_path / "fastrecall.toml"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("k = 60\n# Pub", "kk = 60\n# Pub",
         r"unknown key search\.reasoning\.kk; did you mean search\.reasoning\.k\?"),
        ("max_candidates = 25", "", r"missing key search\.reasoning\.max_candidates; "),
        ("budget = 32", "buget = 32", r"unknown key eval\.buget; did you mean eval\.budget\?"),
        ("[index]", "[indx]", r"unknown key indx; did you mean index\?"),
        ("[index]", "[zzz]\n[index]", r"unknown key zzz; known: eval, index, search"),
        ("\n[search.reasoning]", "\n[search.resoning]", r"unknown key search\.resoning; did you"),
        ("budget = 32", "budget = 0", r"eval\.budget is 0; expected 1 to 100000"),
        ("budget = 32", "budget = true", r"eval\.budget is true; expected a whole number"),
        ("budget = 32", 'budget = "32"', r'eval\.budget is "32"; expected a whole number'),
        ("reasoning_weight = 2.0", "reasoning_weight = -1", r"weight is -1; expected 0 or more"),
        ("reasoning_weight = 2.0", "reasoning_weight = nan", r"weight is nan; expected 0 or more"),
        ("temperature = 1.0", "temperature = 3", r"temperature is 3; expected 0 to 2"),
        ("timeout = 60.0", "timeout = 0", r"timeout is 0; expected a number above 0"),
        ("enabled = false", "enabled = 0", r"enabled is 0; expected true or false"),
        ("enabled = false", "enabled = true", r"model is \"\"; expected provider:model, since"),
        ('context_level = "full"', 'context_level = "all"',
         r'context_level is "all"; expected one of full, snippets, signatures'),
        ('model = ""', 'model = "gpt"', r'model is "gpt"; expected provider:model'),
        ('base_url = ""', 'base_url = "file:///etc"', r"expected an http or https address"),
        ('base_url = ""', 'base_url = "http://host:x/"', r"https address \(Port"),
        ('base_url = ""', 'base_url = "https://me:pw@host/v1"', r"without user name"),
        ('links = ["published"]', 'links = ["guess"]', r"links is .*; expected at least one of"),
        ('links = ["published"]', 'links = "published"', r"links is \"published\"; expected"),
        ('author_filter = "^(', 'author_filter = "^((', r"expected a regular expression"),
        ('descriptions = "off"', "descriptions = off", r"is not TOML: .*line"),
        ("[eval]", "eval = 3\n[xeval]", r"unknown key xeval"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_key_and_file(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    file = changed(tmp_path, old, new)
    with pytest.raises(InputError, match=message) as failure:
        load_config(file)
    assert str(failure.value).startswith(str(file))


def test_a_whole_number_is_fine_where_a_number_is_asked(tmp_path: Path) -> None:
    loaded = load_config(changed(tmp_path, "timeout = 60.0", "timeout = 5"))
    assert loaded.reasoning.timeout == 5.0
    assert isinstance(loaded.reasoning.timeout, float)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read settings .*none\.toml"):
        load_config(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b"# caf\xe9\n")
    with pytest.raises(InputError, match=r"latin\.toml is not UTF-8"):
        load_config(tmp_path / "latin.toml")
