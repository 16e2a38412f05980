"""The command line, run in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from fastrecall.cli import app


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Outcome]

FAKE = ("--model", "fake")


def assert_told(outcome: Outcome, *parts: str) -> None:
    assert outcome.code == 2, outcome.err
    assert outcome.out == ""
    assert "Traceback" not in outcome.err
    for part in parts:
        assert part in outcome.err


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """A function that runs ``fastrecall ARGS…`` with a cache and a home of its own."""
    monkeypatch.setenv("FASTRECALL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("APPDATA", str(tmp_path / "home"))

    def call(*args: object) -> Outcome:
        capsys.readouterr()
        with pytest.raises(SystemExit) as caught:
            app.main([str(arg) for arg in args])
        said = capsys.readouterr()
        return Outcome(int(caught.value.code or 0), said.out, said.err)

    return call


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with three issues and three PRs, each of which closes one."""
    place = tmp_path / "corpus"
    place.mkdir()
    issues = [
        {"number": n, "createdAt": f"2024-01-0{n}T00:00:00Z", "title": f"Symptom {n}", "body": None}
        for n in (1, 2, 3)
    ]
    prs = [
        {
            "number": n + 10,
            "createdAt": f"2024-02-0{n}T00:00:00Z",
            "title": f"Change {n}",
            "body": f"Closes #{n}",
            "author": {"login": "ann"},
        }
        for n in (1, 2, 3)
    ]
    (place / "issues.json").write_text(json.dumps(issues), encoding="utf-8")
    (place / "prs.json").write_text(json.dumps(prs), encoding="utf-8")
    return place
