"""A fetch that is killed at any moment goes on, and ends with the same file."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.corpus.fetch.conftest import Fetch
from tests.corpus.fetch.fake_github import FakeGitHub, Repo, fine, sample

from fastrecall.corpus.fetch.journal import Header, Page, open_journal
from fastrecall.errors import RemoteError

PAGES = 9
HEADER = Header(since=None, comments=False, commits=False, base="")


def start(server: FakeGitHub, data: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "fastrecall", "fetch", "demo/lattice"],
        env={**os.environ, "GITHUB_API_URL": server.api_url, "FASTRECALL_DATA": str(data)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def parquet(data: Path) -> bytes:
    (file,) = data.rglob("*.parquet")
    return file.read_bytes()


@pytest.mark.skipif(os.name == "nt", reason="there is no kill -9")
@pytest.mark.parametrize("seed", [1, 2])
def test_kill_9_at_random_pages_changes_nothing(
    server: FakeGitHub, fetch: Fetch, data: Path, tmp_path: Path, seed: int
) -> None:
    server.repos = [sample(issues=290, prs=560)]
    fetch()
    wanted = parquet(data)
    server.requests.clear()

    other = tmp_path / "other"
    kills = sorted(random.Random(seed).sample(range(1, PAGES), 2))
    child: list[subprocess.Popen[bytes]] = []

    def kill(_server: FakeGitHub, _body: object) -> None:
        child[-1].kill()

    done = 0
    for page in kills:
        server.troubles.extend([fine] * (page - done) + [kill])
        child.append(start(server, other))
        assert child[-1].wait() == -9
        assert child[-1].stdout
        child[-1].stdout.close()
        done = page
    child.append(start(server, other))
    out, _ = child[-1].communicate()
    assert child[-1].returncode == 0
    assert b"290 issues, 560 PRs" in out
    assert parquet(other) == wanted
    # Each kill costs one page that was asked for and not written down.
    assert len(server.requests) == PAGES + len(kills)
    assert server.busiest == 1
    assert not list(other.rglob("*.jsonl"))


@pytest.fixture
def stopped(server: FakeGitHub, fetch: Fetch, data: Path) -> Iterator[Path]:
    """The journal of a fetch that stopped after four of five pages."""

    def stop(_server: FakeGitHub, _body: object) -> tuple[int, dict[str, str], bytes]:
        return 401, {}, b""

    server.repos = [sample(issues=150, prs=250)]
    server.troubles.extend([fine] * 4 + [stop])
    with pytest.raises(RemoteError):
        fetch()
    (path,) = data.rglob("journal.jsonl")
    server.requests.clear()
    yield path
    assert not path.exists()


def test_a_page_cut_in_writing_is_asked_for_again(
    server: FakeGitHub, fetch: Fetch, stopped: Path
) -> None:
    stopped.write_bytes(stopped.read_bytes()[:-2000])
    assert fetch().manifest.counts == {"issues": 150, "prs": 250}
    assert len(server.requests) == 2


def test_a_journal_with_a_hole_is_used_up_to_it(
    server: FakeGitHub, fetch: Fetch, stopped: Path
) -> None:
    lines = stopped.read_bytes().splitlines(keepends=True)
    lines[2] = b"\0" * (len(lines[2]) - 1) + b"\n"
    stopped.write_bytes(b"".join(lines))
    assert fetch().manifest.counts == {"issues": 150, "prs": 250}
    assert len(server.requests) == 4


def test_a_journal_with_another_aim_is_not_used(
    server: FakeGitHub, fetch: Fetch, stopped: Path
) -> None:
    fetch(comments=True)
    assert len(server.requests) == 5


@pytest.mark.parametrize("text", [b"", b"{", b"[]\n", b'{"version": 0}\n'])
def test_a_journal_without_a_head_is_begun_anew(
    server: FakeGitHub, fetch: Fetch, stopped: Path, text: bytes
) -> None:
    stopped.write_bytes(text)
    fetch()
    assert len(server.requests) == 5


def test_what_changed_while_a_fetch_rested_comes_with_the_next(
    server: FakeGitHub, fetch: Fetch, stopped: Path, said: list[str]
) -> None:
    repo: Repo = server.repos[0]
    repo.touch(1, at=server.now + 1000, title="Changed")
    server.now += 5000
    fetch()
    assert "going on with the fetch of 20" in said[-1]
    assert fetch().changed == 1


def test_a_page_is_on_disk_before_the_next_is_asked_for(tmp_path: Path) -> None:
    page = Page("issue", "a/b", 1, "x", True, 5, [{"number": 1, "body": "\ud800 é"}])
    with open_journal(tmp_path / "j", HEADER) as journal:
        journal.add(page)
        # Another handle sees it although this one is still open.
        assert (tmp_path / "j").read_bytes().count(b"\n") == 2
    with open_journal(tmp_path / "j", HEADER) as again:
        assert list(again.pages()) == [page]
        assert again.last("issue") == page
        assert again.last("pr") is None
        assert (again.first_served_at, again.count) == (5, 1)
