"""A data folder of the test's own, a token, and a connection that does not really wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.corpus.fetch.fake_github import TOKEN, FakeGitHub, fake_github

from fastrecall.corpus.fetch import Fetched, GitHub, Server, Wanted, fetch_repository

Fetch = Callable[..., Fetched]


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where fetched tickets go."""
    for name in ("GITHUB_API_URL", "GH_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    monkeypatch.setenv("FASTRECALL_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def server() -> Iterator[FakeGitHub]:
    """A server without repositories; add some to ``repos``."""
    with fake_github() as state:
        yield state


@pytest.fixture
def waits() -> list[float]:
    """The seconds that the connection would have waited."""
    return []


@pytest.fixture
def said() -> list[str]:
    """What the user was told."""
    return []


@pytest.fixture
def github(server: FakeGitHub, waits: list[float], said: list[str]) -> Iterator[GitHub]:
    """A connection that notes its waits instead of waiting."""
    with GitHub(Server.at(server.api_url), TOKEN, sleep=waits.append, say=said.append) as client:
        yield client


@pytest.fixture
def fetch(github: GitHub, said: list[str]) -> Fetch:
    """A function that fetches a repository, with the comments or commits that are named."""

    def call(name: str = "demo/lattice", **wanted: bool) -> Fetched:
        return fetch_repository(name, github=github, wanted=Wanted(**wanted), say=said.append)

    return call
