"""A repository of 40,000 tickets."""

from __future__ import annotations

import pytest
from tests.corpus.fetch.conftest import Fetch
from tests.corpus.fetch.fake_github import DAY, START, FakeGitHub, sample


@pytest.mark.slow
def test_40_000_tickets_take_401_requests_and_an_update_two(
    server: FakeGitHub, fetch: Fetch, said: list[str]
) -> None:
    server.repos = [repo] = [sample(issues=9_950, prs=30_050)]
    fetched = fetch()
    assert fetched.requests == 100 + 301
    assert fetched.manifest.counts == {"issues": 9_950, "prs": 30_050}
    assert said[0] == "demo/lattice: 40,000 issues and PRs to fetch, about 401 requests"
    repo.touch(17, at=START + 366 * DAY)
    server.now += 2 * DAY
    assert fetch().requests == 2
    assert server.busiest == 1
