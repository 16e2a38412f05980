"""A fetch brings everything once, then only what changed, and loses nothing on the way."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.corpus.fetch.conftest import Fetch
from tests.corpus.fetch.fake_github import (
    DAY,
    START,
    FakeGitHub,
    Repo,
    abort,
    fine,
    reply,
    sample,
)

from fastrecall.corpus import load, load_corpus
from fastrecall.corpus.fetch.store import Store
from fastrecall.errors import CacheError, CorpusError, RemoteError
from fastrecall.types import Corpus, Ticket

YEAR = START + 365 * DAY


def everything(name: str = "demo/lattice") -> Corpus:
    return load_corpus(name, window_prs=None, window_issues=None, author_filter=None)


def numbers(corpus: Corpus) -> list[int]:
    return sorted(ticket.number for ticket in corpus.tickets)


def ticket(number: int) -> Ticket:
    return next(one for one in everything().tickets if one.number == number)


# The whole.


def test_everything_comes_with_the_fewest_possible_requests(
    server: FakeGitHub, fetch: Fetch
) -> None:
    server.repos = [sample(issues=230, prs=500)]
    fetched = fetch()
    assert fetched.manifest.counts == {"issues": 230, "prs": 500}
    assert fetched.requests == len(server.requests) == 3 + 5
    assert server.busiest == 1
    corpus = everything()
    assert corpus.name == "demo/lattice"
    assert numbers(corpus) == list(range(1, 731))
    assert corpus.repos == ("demo/lattice",)


def test_a_ticket_comes_with_all_its_fields(server: FakeGitHub, fetch: Fetch) -> None:
    repo = Repo("demo/lattice")
    repo.add("issue", state="CLOSED", stateReason="DUPLICATE", closedAt="2024-01-02T00:00:00Z")
    repo.add(
        "pr",
        state="MERGED",
        mergedAt="2024-01-03T00:00:00Z",
        author={"__typename": "Bot", "login": "copilot-swe-agent"},
        baseRefName="stable",
        headRefName="copilot/fix",
        labels=[{"name": "bug"}],
        comments=[{"body": "Nice"}],
        commits=[{"commit": {"message": "Fix", "author": {"name": "A", "email": "a@b.c"}}}],
        closingIssuesReferences=[{"number": 1, "repository": {"nameWithOwner": "demo/lattice"}}],
    )
    server.repos = [repo]
    fetch(comments=True, commits=True)
    issue, pr = everything().tickets
    assert (issue.state, issue.state_reason, issue.closed_at) == ("CLOSED", "DUPLICATE", 1704153600)
    assert pr.state == "MERGED"
    assert (pr.author, pr.is_bot) == ("copilot-swe-agent", True)
    assert (pr.base, pr.head, pr.labels) == ("stable", "copilot/fix", ("bug",))
    assert pr.comments == ("Nice",)
    assert pr.commits == ("Author: A <a@b.c>\n\nFix",)
    assert pr.closes == (("demo/lattice", 1),)
    assert pr.url == "https://github.com/demo/lattice/pull/2"


def test_long_lists_inside_a_ticket_come_whole(server: FakeGitHub, fetch: Fetch) -> None:
    repo = Repo("demo/lattice")
    repo.add("issue", comments=[{"body": f"comment {n}"} for n in range(230)])
    repo.add("pr", labels=[{"name": f"label {n}"} for n in range(33)])
    server.repos = [repo]
    fetched = fetch(comments=True)
    issue, pr = everything().tickets
    assert issue.comments == tuple(f"comment {n}" for n in range(230))
    assert pr.labels == tuple(f"label {n}" for n in range(33))
    assert fetched.requests == 2 + 2 + 1


def test_a_list_that_the_token_may_not_see_is_unknown(server: FakeGitHub, fetch: Fetch) -> None:
    repo = sample()
    for one in repo.of("PullRequest"):
        one["closingIssuesReferences"] = None
    server.repos = [repo]
    fetch()
    assert {one.closes for one in everything().tickets} == {None}


def test_an_empty_repository_is_no_error(server: FakeGitHub, fetch: Fetch) -> None:
    server.repos = [Repo("demo/lattice")]
    assert fetch().manifest.counts == {"issues": 0, "prs": 0}
    assert fetch().requests == 2
    with pytest.raises(CorpusError, match="0 issues and 0 PRs were read"):
        everything()


def test_an_unknown_repository_is_told_in_a_sentence(fetch: Fetch, data: Path) -> None:
    with pytest.raises(CorpusError, match="knows no such repository"):
        fetch("demo/nothing")
    assert not list(data.rglob("*.parquet"))


def test_a_name_in_other_case_finds_what_was_fetched(server: FakeGitHub, fetch: Fetch) -> None:
    server.repos = [sample("Demo/Lattice")]
    fetch("dEMO/lATTICE")
    assert load_corpus("demo/lattice").name == "Demo/Lattice"


# What changed.


def test_a_second_fetch_asks_only_for_what_changed(server: FakeGitHub, fetch: Fetch) -> None:
    repo = sample(issues=300, prs=300)
    server.repos = [repo]
    fetch()
    server.now = YEAR + DAY
    changed = [3, 4, 77, 500]
    for number in changed:
        repo.touch(number, at=YEAR + 60, title=f"Now {number}")
    repo.add("issue", at=YEAR + 90)
    repo.add("pr", at=YEAR + 95)
    server.served_nodes.clear()
    fetched = fetch()
    assert (fetched.changed, fetched.removed) == (6, 0)
    assert fetched.requests == 2
    assert len(server.served_nodes) <= 2 * 25
    assert ticket(77).title == "Now 77"
    assert numbers(everything()) == list(range(1, 603))
    assert fetch().changed == 0


def test_many_changes_need_few_requests(server: FakeGitHub, fetch: Fetch) -> None:
    repo = sample(issues=50, prs=800)
    server.repos = [repo]
    fetch()
    server.now = YEAR + DAY
    for one in repo.of("PullRequest"):
        repo.touch(one["number"], at=YEAR + one["number"])
    fetched = fetch()
    assert fetched.requests == 1 + 2 + 2 + 7  # pages of 25, 25, 50, 50, and 100 from there


def test_what_changes_during_a_fetch_comes_with_the_next(server: FakeGitHub, fetch: Fetch) -> None:
    repo = sample(issues=10, prs=350)
    server.repos = [repo]

    def change(_server: FakeGitHub, _body: object) -> None:
        repo.touch(2, at=server.now + 5, title="Changed meanwhile")
        server.now += 3600

    server.troubles.extend([fine, fine, change])
    fetch()
    assert ticket(2).title == "Ticket 2"
    fetch()
    assert ticket(2).title == "Changed meanwhile"


def test_a_change_shortly_before_the_last_fetch_is_not_missed(
    server: FakeGitHub, fetch: Fetch
) -> None:
    repo = sample()
    server.repos = [repo]
    fetch()
    repo.touch(9, at=server.now - 30, title="Late to show")
    fetch()
    assert ticket(9).title == "Late to show"


@pytest.mark.parametrize("number", [1, 50, 100], ids=["oldest", "middle", "newest"])
def test_a_deleted_ticket_goes(server: FakeGitHub, fetch: Fetch, number: int) -> None:
    repo = sample()
    server.repos = [repo]
    fetch()
    del repo.tickets[number]
    fetched = fetch()
    assert fetched.removed == 1
    assert numbers(everything()) == [n for n in range(1, 101) if n != number]
    assert fetch().requests == 2


def test_a_young_deletion_is_found_without_listing_the_rest(
    server: FakeGitHub, fetch: Fetch
) -> None:
    repo = sample(issues=20, prs=900)
    server.repos = [repo]
    fetch()
    del repo.tickets[905]
    assert fetch().requests == 3


def test_a_ticket_transferred_here_with_its_old_dates_comes(
    server: FakeGitHub, fetch: Fetch
) -> None:
    repo = sample()
    server.repos = [repo]
    fetch()
    repo.add("issue", at=START + 61, title="From elsewhere")
    fetch()
    assert ticket(101).title == "From elsewhere"


def test_one_that_goes_while_another_comes_is_found_too(server: FakeGitHub, fetch: Fetch) -> None:
    repo = sample()
    server.repos = [repo]
    fetch()
    gone = repo.of("Issue")[3]["number"]
    del repo.tickets[gone]
    repo.add("issue", at=YEAR + 5)
    assert fetch().removed == 1
    assert gone not in numbers(everything())


def test_tickets_that_are_counted_and_never_listed_are_looked_for_once(
    server: FakeGitHub, fetch: Fetch
) -> None:
    server.repos = [sample()]
    server.repos[0].hidden_issues = 2
    assert fetch().requests == 3
    assert fetch().requests == 2
    del server.repos[0].tickets[server.repos[0].of("Issue")[5]["number"]]
    assert fetch().removed == 1


def test_asking_for_more_fetches_everything_again_and_stays(
    server: FakeGitHub, fetch: Fetch
) -> None:
    repo = sample()
    for one in repo.tickets.values():
        one["comments"] = [{"body": "Me too"}]
    server.repos = [repo]
    fetch()
    assert ticket(1).comments == ()
    fetch(comments=True)
    assert ticket(1).comments == ("Me too",)
    repo.touch(1, at=server.now, comments=[{"body": "Me too"}, {"body": "And me"}])
    fetch()
    assert ticket(1).comments == ("Me too", "And me")


# Names.


def test_a_renamed_repository_is_followed(
    server: FakeGitHub, fetch: Fetch, said: list[str]
) -> None:
    repo = sample()
    server.repos = [repo]
    fetch()
    for one in repo.tickets.values():
        one["url"] = one["url"].replace("demo/lattice", "grown/up")
    repo.name, repo.former_names = "grown/up", ("demo/lattice",)
    fetched = fetch("demo/lattice")
    assert fetched.manifest.repository == "grown/up"
    assert fetched.requests == 2
    assert "demo/lattice is called grown/up now" in said
    for name in ("demo/lattice", "grown/up"):
        corpus = everything(name)
        assert corpus.name == "grown/up"
        assert corpus.repos == ("grown/up",)
        assert all("grown/up" in one.url for one in corpus.tickets)
    assert fetch("demo/lattice").requests == 2


def test_a_repository_may_be_renamed_again_and_again(server: FakeGitHub, fetch: Fetch) -> None:
    repo = sample("demo/one")
    server.repos = [repo]
    fetch("demo/one")
    for name in ("demo/two", "demo/three"):
        repo.former_names, repo.name = (*repo.former_names, repo.name), name
        fetch(repo.former_names[-1])
    for name in ("demo/one", "demo/two", "demo/three"):
        assert everything(name).name == "demo/three"
    assert fetch("demo/one").requests == 3  # one to learn the name


def test_an_old_name_leads_to_what_is_stored_under_the_new_one(
    server: FakeGitHub, fetch: Fetch
) -> None:
    repo = sample("grown/up", issues=150, prs=350)
    repo.former_names = ("demo/lattice",)
    server.repos = [repo]
    fetch("grown/up")
    fetched = fetch("demo/lattice")
    assert fetched.requests == 3
    assert everything("demo/lattice").name == "grown/up"
    assert not list(fetched.store.folder.parent.parent.rglob("*.jsonl"))


def test_several_repositories_are_one_corpus_with_links_between_them(
    server: FakeGitHub, fetch: Fetch
) -> None:
    from fastrecall.corpus import find_links

    one, other = Repo("demo/lattice"), Repo("demo/docs")
    one.add("issue", title="Crash")
    other.add("pr", body="Fixes demo/lattice#1")
    server.repos = [one, other]
    fetch("demo/lattice")
    fetch("demo/docs")
    for name in ("demo/lattice+demo/docs", "demo/*"):
        corpus = everything(name)
        assert corpus.repos == ("demo/docs", "demo/lattice")
        assert len(find_links(corpus).of("github")) == 1
    assert everything("demo/lattice+demo/docs").name == "demo/lattice+demo/docs"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("demo/nothing", "fastrecall fetch demo/nothing"),
        ("nobody/*", "fastrecall fetch --org nobody"),
        ("demo/lattice+demo/nothing", "fastrecall fetch demo/nothing"),
    ],
)
def test_what_was_not_fetched_is_told_with_the_command_that_would(
    server: FakeGitHub, fetch: Fetch, name: str, hint: str
) -> None:
    server.repos = [sample()]
    fetch()
    with pytest.raises(CorpusError, match=hint):
        load_corpus(name)


# What can be wrong on disk.


def test_a_damaged_file_is_noticed_before_it_is_built_upon(
    server: FakeGitHub, fetch: Fetch
) -> None:
    server.repos = [sample()]
    fetched = fetch()
    file = fetched.store.folder / fetched.manifest.file
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(CorpusError, match="the contents are not what"):
        fetch()


@pytest.mark.parametrize(
    "text",
    ["{", "[]", '{"schema": 99}', '{"schema": 1, "repository": "a/b"}'],
    ids=["cut", "list", "newer", "incomplete"],
)
def test_a_damaged_manifest_is_an_error_and_no_traceback(
    server: FakeGitHub, fetch: Fetch, text: str
) -> None:
    server.repos = [sample()]
    fetched = fetch()
    (fetched.store.folder / "manifest.json").write_text(text, encoding="utf-8")
    with pytest.raises(CorpusError, match="fetch again"):
        load_corpus("demo/lattice")


def test_a_manifest_cannot_lead_out_of_its_folder(server: FakeGitHub, fetch: Fetch) -> None:
    server.repos = [sample()]
    fetched = fetch()
    path = fetched.store.folder / "manifest.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    del data["digest"]  # whoever changes a file on purpose can do that
    path.write_text(json.dumps({**data, "file": "../../other.parquet"}), encoding="utf-8")
    with pytest.raises(CorpusError, match="not a readable manifest"):
        load_corpus("demo/lattice")


def test_two_fetches_of_one_repository_do_not_meet(server: FakeGitHub, fetch: Fetch) -> None:
    server.repos = [sample()]
    with (
        Store.of("127.0.0.1", "demo/lattice").lock(),
        pytest.raises(CacheError, match="another process is fetching"),
    ):
        fetch()
    assert server.requests == []


def test_the_token_is_written_nowhere(server: FakeGitHub, fetch: Fetch, data: Path) -> None:
    from tests.corpus.fetch.fake_github import TOKEN

    server.repos = [sample()]
    server.troubles.extend([fine, reply(400)])
    with pytest.raises(RemoteError) as caught:
        fetch()
    assert TOKEN not in str(caught.value)
    for path in data.rglob("*"):
        assert path.is_dir() or TOKEN.encode() not in path.read_bytes()
    server.troubles.append(abort)
    fetch()
    for path in data.rglob("*"):
        assert path.is_dir() or TOKEN.encode() not in path.read_bytes()


def test_a_fetch_that_ends_while_the_corpus_is_read_is_no_failure(
    server: FakeGitHub, fetch: Fetch, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.repos = [sample(issues=20, prs=20)]
    fetch()
    read, fetched = load.read_tickets, []

    def fetch_and_read(*given: object) -> Iterator[object]:
        if not fetched:
            server.repos[0].touch(1, at=server.now + 1000, title="Changed")
            server.now += 5000
            fetched.append(fetch())
        yield from read(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(load, "read_tickets", fetch_and_read)
    corpus = load_corpus("demo/lattice")
    assert fetched[0].changed == 1
    assert any(ticket.title == "Changed" for ticket in corpus.tickets)
