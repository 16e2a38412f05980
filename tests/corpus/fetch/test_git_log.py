"""Commits as nodes: their fields, what they close, and how they stand beside issues."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from fastrecall.corpus import find_links, load_corpus
from fastrecall.corpus.fetch import import_git
from fastrecall.corpus.fetch.store import Manifest, Store
from fastrecall.corpus.history import change_edges, find_mentions, find_reverts
from fastrecall.errors import CorpusError
from fastrecall.graph import closing_edges
from fastrecall.types import EDGE_TYPES, Ticket

MESSAGES = (
    "Begin",
    "Bind the cache\n\nFixes #5, see #6.\n\nCo-authored-by: Claude <noreply@anthropic.com>",
    "Ünïcode, кириллица 🤖 (#7)\n\nFixes other/project#1",
)


def git(folder: Path, *arguments: str, **environment: str) -> str:
    who = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "Ann"), ("EMAIL", "ann@example.org"), ("DATE", "@1700000000Z"))
    }
    return subprocess.run(
        ["git", "-C", str(folder), *arguments],
        env={**os.environ, **who, "GIT_CONFIG_GLOBAL": os.devnull, **environment},
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    for place, message in enumerate(MESSAGES):
        date = f"@{1_700_000_000 + 60 * place} +0000"
        git(folder, "commit", "-q", "--allow-empty", "-m", message, GIT_COMMITTER_DATE=date)
    undone = git(folder, "rev-parse", "HEAD~1")
    git(
        folder, "commit", "-q", "--allow-empty", "-m",
        f'Revert "Bind the cache"\n\nThis reverts commit {undone}.',
        GIT_AUTHOR_NAME="robot[bot]", GIT_COMMITTER_DATE="@1700000600 +0000",
    )  # fmt: skip
    return folder


def test_commits_become_changes_in_order(repository: Path) -> None:
    git(repository, "remote", "add", "origin", "git@github.com:demo/lattice.git")
    manifest, _ = import_git(repository)
    assert manifest.repository == "git:demo/lattice"
    corpus = load_corpus("git:demo/lattice")
    assert [t.number for t in corpus.tickets] == [1, 2, 3, 4]
    assert [t.title for t in corpus.tickets][2] == "Ünïcode, кириллица 🤖 (#7)"
    second, last = corpus.tickets[1], corpus.tickets[3]
    assert second.created_at == second.merged_at == 1_700_000_060
    assert second.closes == (("demo/lattice", 5),)
    assert second.commits[0].startswith("Author: Ann <ann@example.org>\n")
    assert second.url == f"https://github.com/demo/lattice/commit/{second.head}"
    assert corpus.tickets[2].closes == (("other/project", 1),)
    assert (last.author, last.is_bot) == ("robot", True)
    assert [tuple(one) for one in find_reverts(corpus)] == [(3, 1)]


def test_commits_stand_beside_the_issues_that_they_close(repository: Path) -> None:
    tickets = [Ticket("demo/lattice", "issue", n, f"Symptom {n}", "", 5) for n in (5, 6)]
    tickets.append(Ticket("demo/lattice", "pr", 2, "A PR with the number of a commit", "", 6))
    Store.of("github.com", "demo/lattice").replace(tickets, Manifest("demo/lattice", "gh"))
    import_git(repository, name="demo/lattice")
    corpus = load_corpus("demo/lattice+git:demo/lattice")
    assert len(corpus) == 3 + 4
    links = find_links(corpus).of("linked")
    pairs = [
        (corpus.tickets[issue].ref, corpus.tickets[pr].ref)
        for issue, pr in zip(links.issues, links.prs, strict=True)
    ]
    assert pairs == [("demo/lattice#5", "git:demo/lattice#2")]
    mentions = {
        (corpus.tickets[one.change].ref, corpus.tickets[one.target].ref)
        for one in find_mentions(corpus)
    }
    assert mentions == {("git:demo/lattice#2", "demo/lattice#6")}
    edges = closing_edges(links, others=change_edges(corpus))
    assert [
        (EDGE_TYPES[kind], corpus.tickets[source].ref, corpus.tickets[target].ref)
        for kind, source, target in zip(edges.types, edges.sources, edges.targets, strict=True)
    ] == [
        ("closes", "demo/lattice#5", "git:demo/lattice#2"),
        ("reverts", "git:demo/lattice#4", "git:demo/lattice#2"),
        ("mentions", "git:demo/lattice#2", "demo/lattice#6"),
    ]


def test_a_repository_without_origin_is_local(repository: Path) -> None:
    assert import_git(repository)[0].repository == "git:local/project"
    assert load_corpus("git:local/project").tickets[0].url == ""


def test_a_bare_repository_will_do(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(repository), "bare.git")
    assert import_git(tmp_path / "bare.git")[0].counts == {"issues": 0, "prs": 4}


def test_what_is_no_repository_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(CorpusError, match="not a git repository"):
        import_git(tmp_path)
    with pytest.raises(CorpusError, match="there is no such folder"):
        import_git(tmp_path / "nothing")
    git(tmp_path, "init", "-q")
    with pytest.raises(CorpusError, match="HEAD"):
        import_git(tmp_path)
    with pytest.raises(CorpusError, match="fastrecall fetch --git PATH"):
        load_corpus("git:local/nothing")
