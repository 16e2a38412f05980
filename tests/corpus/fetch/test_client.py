"""Manners: limits are waited for as stated, failures are met with less and later, and bounded."""

from __future__ import annotations

import pytest
from tests.corpus.fetch.conftest import Fetch
from tests.corpus.fetch.fake_github import TOKEN, FakeGitHub, abort, fine, reply, sample

from fastrecall.corpus import load_corpus
from fastrecall.corpus.fetch import GitHub, Server, check_repository
from fastrecall.corpus.fetch.client import PageSize
from fastrecall.errors import InputError, RemoteError

LIMITED = '{"errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]}'
SECONDARY = '{"message": "You have exceeded a secondary rate limit"}'
TROUBLED = (
    '{"data": null, "errors": [{"message": "Something went wrong while executing your query."}]}'
)


def whole() -> bool:
    return len(load_corpus("demo/lattice", author_filter=None)) == 100


@pytest.mark.parametrize(
    ("trouble", "wait"),
    [
        (reply(429, retry_after=7), 7),
        (reply(403, SECONDARY, retry_after=30), 30),
        (reply(403, SECONDARY, x_ratelimit_remaining=55), 60),
        (reply(403, "{}", x_ratelimit_remaining=0, x_ratelimit_reset="{now+90}"), 91),
        (reply(200, LIMITED, x_ratelimit_remaining=0, x_ratelimit_reset="{now+90}"), 91),
        (reply(200, LIMITED.replace("TED", "T"), x_ratelimit_reset="{now+9}"), 10),
        (reply(200, LIMITED), 60),
        (reply(429, x_ratelimit_remaining=0, x_ratelimit_reset="soon"), 60),
    ],
    ids=[
        "retry-after", "secondary with a time", "secondary without", "primary", "GraphQL's 200",
        "its other name", "GraphQL's without a time", "nonsense in a header",
    ],
)  # fmt: skip
def test_a_limit_is_waited_for_as_the_server_states_it(
    server: FakeGitHub, fetch: Fetch, waits: list[float], trouble, wait: float
) -> None:
    server.repos = [sample()]

    def dated(github: FakeGitHub, body: dict) -> object:
        status, headers, content = trouble(github, body)
        moments = {f"{{now+{n}}}": str(github.now + n) for n in (9, 90)}
        return status, {k: moments.get(v, v) for k, v in headers.items()}, content

    server.troubles.extend([fine, dated])
    fetched = fetch()
    assert waits == [wait]
    assert fetched.requests == 3
    assert whole()


def test_limits_without_a_time_double_the_wait_and_end(
    server: FakeGitHub, fetch: Fetch, waits: list[float], said: list[str]
) -> None:
    server.repos = [sample()]
    server.troubles.extend([fine] + [reply(429)] * 20)
    with pytest.raises(RemoteError, match="finished pages are kept"):
        fetch()
    assert waits == [60, 120, 240, 480, 900, 900, 900, 900, 900, 900]
    assert "asks to wait" in said[0]
    server.troubles.clear()
    assert fetch().requests == 1
    assert whole()


def test_nobody_waits_for_days(server: FakeGitHub, fetch: Fetch, waits: list[float]) -> None:
    server.troubles.append(reply(429, retry_after=90_000))
    with pytest.raises(RemoteError, match=r"asks to wait 25\.0 hours"):
        fetch()
    assert waits == []


@pytest.mark.parametrize(
    "trouble",
    [reply(502), reply(504), abort, reply(200, "<html>"), reply(200, TROUBLED), reply(200, "[]")],
    ids=["502", "504", "aborted body", "no JSON", "GraphQL's own timeout", "no object"],
)
def test_a_page_that_fails_is_asked_for_in_half(
    server: FakeGitHub, fetch: Fetch, waits: list[float], trouble
) -> None:
    server.repos = [sample()]
    server.troubles.extend([fine, trouble])
    fetch()
    assert [body["variables"]["first"] for body in server.requests] == [100, 100, 50, 50]
    assert waits == [1]
    assert whole()


def test_pages_shrink_to_what_the_server_can_do_and_grow_back(
    server: FakeGitHub, fetch: Fetch, waits: list[float]
) -> None:
    server.repos = [sample(issues=10, prs=600)]
    server.largest_possible_page = 30
    fetch()
    sizes = [body["variables"]["first"] for body in server.requests]
    assert sizes[:4] == [100, 50, 25, 100]
    assert max(sizes[4:]) <= 50
    assert sizes[4:].count(25) >= 20
    assert max(waits) <= 2
    assert server.busiest == 1
    assert len(load_corpus("demo/lattice", author_filter=None)) == 610


def test_a_server_that_stays_broken_is_given_up_not_without_a_word(
    server: FakeGitHub, fetch: Fetch, waits: list[float], said: list[str]
) -> None:
    server.repos = [sample()]
    server.troubles.extend([reply(502)] * 50)
    with pytest.raises(RemoteError, match="failed 9 times in a row, last with: status 502"):
        fetch()
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60]
    assert said == [
        f"127.0.0.1 failed (status 502): again in {pause} s" for pause in (8, 16, 32, 60, 60)
    ]
    assert [body["variables"]["first"] for body in server.requests][-1] == 1


@pytest.mark.parametrize(
    ("trouble", "sentence"),
    [
        (reply(401), "does not accept the token"),
        (reply(403, '{"message": "Resource protected by SAML"}'), "refuses access .403: Resource"),
        (reply(404), "check the API address"),
        (reply(301, location="https://elsewhere.example/"), "points to https://elsewhere"),
        (reply(200, '{"errors": [{"message": "Field \\u001b[31m x"}]}'), "refused the question"),
    ],
    ids=["401", "403", "404", "redirect", "bad question"],
)
def test_a_refusal_is_final_and_one_sentence(
    server: FakeGitHub, fetch: Fetch, waits: list[float], trouble, sentence: str
) -> None:
    server.troubles.append(trouble)
    with pytest.raises(RemoteError, match=sentence) as caught:
        fetch()
    assert waits == []
    assert len(server.requests) == 1
    assert str(caught.value).isprintable()


def test_a_server_that_is_not_there_is_an_error(waits: list[float]) -> None:
    with (
        GitHub(Server.at("http://127.0.0.1:9"), TOKEN, sleep=waits.append) as github,
        pytest.raises(RemoteError, match="failed 9 times in a row"),
    ):
        github.ask("query { viewer { login } }", {})


def test_a_cursor_that_does_not_move_ends_the_fetch(server: FakeGitHub, fetch: Fetch) -> None:
    page = (
        '{"data": {"repository": {"nameWithOwner": "demo/lattice", "other": {"totalCount": 0}, '
        '"page": {"totalCount": 9, "pageInfo": {"hasNextPage": true, "endCursor": "x"}, '
        '"nodes": []}}}}'
    )
    server.troubles.extend([reply(200, page)] * 50)
    with pytest.raises(RemoteError, match="does not say where"):
        fetch()
    assert len(server.requests) == 2


def test_a_page_size_halves_and_doubles() -> None:
    size = PageSize()
    for _ in range(9):
        size.shrink()
    assert size.value == 1
    for _ in range(20):
        size.succeed()
    assert size.value == 100


@pytest.mark.parametrize(
    ("given", "host", "asked"),
    [
        ("https://api.github.com/", "github.com", "https://api.github.com/graphql"),
        ("https://git.corp/api/v3", "git.corp", "https://git.corp/api/graphql"),
        ("https://git.corp", "git.corp", "https://git.corp/api/graphql"),
        ("https://git.corp/api/graphql", "git.corp", "https://git.corp/api/graphql"),
        ("https://api.corp.ghe.com", "corp.ghe.com", "https://api.corp.ghe.com/graphql"),
        ("http://127.0.0.1:81/api/v3", "127.0.0.1", "http://127.0.0.1:81/api/graphql"),
    ],
)
def test_any_usual_address_leads_to_graphql(given: str, host: str, asked: str) -> None:
    assert Server.at(given) == Server(host, asked)


@pytest.mark.parametrize(
    "given",
    [
        "https://[bad",
        "https://git.corp:port",
        "https://..",
        "https://git..corp",
        "https://git corp",
        "https://git%00corp",
        "https://" + "x" * 64,
        "https://git",
        "https://api.git/",
        "https://bücher.example",
    ],
)
def test_an_address_whose_host_is_none_or_no_folder_is_refused(given: str) -> None:
    with pytest.raises(InputError, match=r"https://HOST/api/v3|full name"):
        Server.at(given)


def test_a_secret_in_an_address_is_not_told_again() -> None:
    with pytest.raises(InputError, match="holds a user name or a token") as caught:
        Server.at(f"https://{TOKEN}@git.corp/api/v3")
    assert TOKEN not in str(caught.value)
    with pytest.raises(InputError, match="is no repository") as caught:
        check_repository(f"https://{TOKEN}@git.corp/a")
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize(
    "given", ["http://git.corp/api/v3", "git.corp", "ftp://git.corp", "https://me:pw@git.corp", ""]
)
def test_an_address_that_would_give_the_token_away_is_refused(given: str) -> None:
    with pytest.raises(InputError, match="API address"):
        Server.at(given)


@pytest.mark.parametrize("given", ["https://[::1", "https://git.corp:many/", "https://a:99999"])
def test_an_address_that_is_none_is_refused(given: str) -> None:
    with pytest.raises(InputError, match="API address"):
        Server.at(given)
