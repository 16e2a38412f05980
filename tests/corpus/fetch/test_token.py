"""Where the token comes from, and what is said when there is none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fastrecall.corpus.fetch import find_token
from fastrecall.errors import InputError


@pytest.fixture(autouse=True)
def nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("GITHUB_TOKEN")
    monkeypatch.setenv("PATH", str(tmp_path))


def fake_gh(folder: Path, script: str) -> None:
    path = folder / "gh"
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)


def test_the_environment_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GH_TOKEN", "second")
    assert find_token("github.com") == "second"
    monkeypatch.setenv("GITHUB_TOKEN", "first")
    assert find_token("github.com") == "first"


def test_another_server_has_a_token_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "public")
    monkeypatch.setenv("GH_ENTERPRISE_TOKEN", "inside")
    assert find_token("github.com") == "public"
    assert find_token("git.corp") == "inside"


@pytest.mark.skipif(os.name == "nt", reason="the stand-in for gh is a shell script")
def test_gh_is_asked_for_the_right_server(tmp_path: Path) -> None:
    fake_gh(tmp_path, 'test "$*" = "auth token --hostname git.corp" && echo from-gh')
    assert find_token("git.corp") == "from-gh"
    with pytest.raises(InputError, match=r"no token for github\.com"):
        find_token("github.com")


def test_without_a_token_there_is_a_clear_word() -> None:
    with pytest.raises(InputError, match=r"set GITHUB_TOKEN .* or log in with `gh auth login`"):
        find_token("github.com")


@pytest.mark.parametrize("token", ["two words", "line\nbreak", "ключ"])
def test_what_is_no_token_is_not_quoted(monkeypatch: pytest.MonkeyPatch, token: str) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", token)
    with pytest.raises(InputError, match="is no token") as caught:
        find_token("github.com")
    assert token not in str(caught.value)
