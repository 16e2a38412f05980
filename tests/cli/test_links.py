"""``fastrecall links`` and the page, as a user meets them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Run


def test_links_are_counted_by_source(run: Run, folder: Path) -> None:
    code, out, _ = run("links", folder)
    assert code == 0
    [published] = [line.split() for line in out.splitlines() if line.startswith("published")]
    assert published[:4] == ["published", "3", "0", "3"]


def test_pairs_gained_and_lost_are_listed(run: Run, folder: Path) -> None:
    out = run("links", folder, "--links", "title", "--list").out
    assert "gained by title against published: 0" in out
    assert "lost by title against published: 3" in out
    assert "  #1 Symptom 1\n    #11 Change 1\n" in out
    told = json.loads(run("links", folder, "--links", "title", "--list", "--json").out)
    assert told["lost"][0] == {
        "issue": "#1", "pr": "#11", "title": "Symptom 1", "pr_title": "Change 1"
    }  # fmt: skip


@pytest.mark.parametrize("command", ["links", "gold"])
def test_titles_alone_have_no_links_to_find(run: Run, tmp_path: Path, command: str) -> None:
    (tmp_path / "gold.csv").write_text("issue,pr,query,pr_title\n1,2,Crash,Fix it\n")
    code, out, err = run(command, "--gold", tmp_path / "gold.csv")
    assert (code, out) == (2, "")
    assert "no texts to find links in" in err


def test_the_page_is_written_whole(run: Run, folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "report.html"
    code, _, err = run("eval", folder, "--model", "fake", "--budget", 2, "--html", place)
    assert code == 0
    assert "page written to" in err
    page = place.read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert page.rstrip().endswith("</html>")


def test_a_missing_package_is_told_before_the_work(
    run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    code, out, err = run("eval", folder / "nowhere", "--html", tmp_path / "report.html")
    assert (code, out) == (2, "")
    assert "pip install 'fastrecall[report]'" in err
