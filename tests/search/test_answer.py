"""Ranked answers: known fixes are found, filters hold, nonsense gets no answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import fastrecall as fr
from fastrecall.corpus import make_corpus
from fastrecall.errors import InputError
from fastrecall.search.answer import Filters, find_ticket
from fastrecall.search.index.opened import Index
from fastrecall.types import Ticket

NONSENSE = (
    "how to bake sourdough bread",
    "cheap flights to Rome in May",
    "guitar chords for beginners",
    "asdf qwer zxcv",
)


def issue(number: int, title: str, body: str = "", at: int = 0, **more: str) -> Ticket:
    return Ticket(more.pop("repo", "o/r"), "issue", number, title, body, at, **more)


def pr(number: int, title: str, body: str = "", at: int = 0, **more: str) -> Ticket:
    return Ticket(more.pop("repo", "o/r"), "pr", number, title, body, at, **more)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """A small project, with the embedded model."""
    tickets = [
        issue(1, "Crash when the configuration file is empty", at=100, author="ann"),
        issue(2, "Login page is slow on mobile phones", at=200, author="bob"),
        issue(3, "Backup restores files with wrong permissions", at=300, author="ann"),
        issue(4, "Connection drops: ERR_SOCK_4711", "after an hour", at=400, author="bob"),
        pr(11, "Treat no settings as defaults", "Fixes #1", at=150, author="cid"),
        pr(12, "Cache the session lookup", "Closes #2", at=250, author="ann"),
        pr(13, "Keep the mode bits", "Resolves #3", at=350, author="cid"),
        pr(14, "Bump the linter", "", at=450, author="robot"),
        issue(1, "Dark theme has unreadable links", at=500, author="eve", repo="o/site"),
        pr(2, "Lighter links", "fixes #1", at=550, author="eve", repo="o/site"),
    ]
    place = tmp_path_factory.mktemp("project")
    fr.build_index(make_corpus(tickets, name="o"), place, cache=False)
    return fr.open_index(place)


@pytest.fixture
def found(project: Index) -> Callable[..., list[str]]:
    def ask(question: str, k: int = 10, **filters: object) -> list[str]:
        answers = fr.ask(project, question, k=k, filters=Filters(**filters))  # type: ignore[arg-type]
        return [answer.id for answer in answers.answers]

    return ask


def test_the_issue_that_is_like_the_question_and_its_fix_come_first(project: Index) -> None:
    answers = fr.ask(project, "program crashes if config is an empty file", k=2).answers
    assert {answer.id for answer in answers} == {"issue o/r#1", "pr o/r#11"}
    issue, fix = sorted(answers, key=lambda answer: answer.id)
    assert issue.place.semantic == fix.place.semantic == 1  # each among its kind
    assert issue.via is None
    assert [ticket.ref for ticket in fix.closes] == ["o/r#1"]


def test_a_pr_that_says_nothing_itself_is_lent_evidence_by_its_issue(tmp_path: Path) -> None:
    """Among many PRs, so that standard scores tell them apart."""
    tickets = [issue(n, f"Panel {n} has the wrong colour {n}") for n in range(1, 30)]
    tickets += [pr(n, f"Repaint panel {n}", "colour") for n in range(50, 80)]
    tickets += [
        issue(100, "Crash when the configuration file is empty"),
        pr(101, "Rework", "Fixes #100"),
        issue(102, "Socket leaks memory after a timeout"),
        pr(103, "Tidy up", "what #102 tells about"),
        pr(104, "Bump", "of #105"),
        pr(105, "Release the buffer of a slow upload", "so as #104 did"),
        issue(106, "Login loops", "until #107"),
        pr(107, "Polish"),
    ]
    fr.build_index(make_corpus(tickets, name="o/r"), tmp_path, cache=False)
    index = fr.open_index(tmp_path)

    def told(question: str, of: str) -> tuple[str, str]:
        answers = fr.ask(index, question, k=5).answers
        ids = [answer.id for answer in answers]
        answer = answers[ids.index(f"pr {of}")]
        assert answer.via is not None
        assert answer.as_dict()["via"]["relation"] == answer.relation
        lender = answers[ids.index(f"{answer.via.kind} {answer.via.ref}")]
        assert ids.index(lender.id) < ids.index(answer.id)
        assert lender.via is None
        assert lender.place == answer.via_place
        return answer.origin.split(" (")[0], lender.id

    assert told("config file is empty and it crashes", "o/r#101") == (
        "closes o/r#100 ← asked-like issue o/r#100",
        "issue o/r#100",
    )
    assert told("the socket leaks memory", "o/r#103")[0] == (
        "mentions o/r#102 ← asked-like issue o/r#102"
    )
    assert told("buffer of the slow upload", "o/r#104")[0] == (
        "mentions o/r#105 ← asked-like PR o/r#105"
    )
    assert told("login loops", "o/r#107")[0] == ("mentioned by o/r#106 ← asked-like issue o/r#106")


def test_what_does_not_fit_into_a_title_is_asked_all_the_same(project: Index) -> None:
    long = "Since we moved to the new machines last week there is something odd going on here, " * 2
    answers = fr.ask(project, long + "backup restores files with the wrong permissions").answers
    assert answers[0].id in ("issue o/r#3", "pr o/r#13")


def test_an_issue_that_is_filtered_out_still_leads_to_its_fix(
    found: Callable[..., list[str]],
) -> None:
    question = "program crashes if config is an empty file"
    assert found(question, kind="pr")[0] == "pr o/r#11"
    assert found(question, author="cid")[0] == "pr o/r#11"
    assert found(question, since=101)[0] == "pr o/r#11"


def test_filters_hold(found: Callable[..., list[str]]) -> None:
    question = "login page is slow"
    assert set(found(question, kind="issue")) <= {f"issue o/r#{n}" for n in range(1, 5)} | {
        "issue o/site#1"
    }
    assert found(question, author="Bob") == ["issue o/r#2", "issue o/r#4"]
    assert set(found(question, until=201)) == {"issue o/r#1", "pr o/r#11", "issue o/r#2"}
    assert set(found("unreadable links in the dark theme", repo="O/Site")) == {
        "issue o/site#1",
        "pr o/site#2",
    }
    assert found(question, k=3) == found(question)[:3]


def test_unknown_names_get_a_hint(found: Callable[..., list[str]]) -> None:
    with pytest.raises(InputError, match="author 'anne'; there are ann"):
        found("crash", author="anne")
    with pytest.raises(InputError, match="repository 'o/sit'; there are o/site"):
        found("crash", repo="o/sit")


@pytest.mark.parametrize("question", ["", "  \n"])
def test_an_empty_question_is_refused(project: Index, question: str) -> None:
    with pytest.raises(InputError, match="the question is empty"):
        fr.ask(project, question)


@pytest.mark.parametrize("k", [0, 51])
def test_k_out_of_range_is_refused(project: Index, k: int) -> None:
    with pytest.raises(InputError, match="expected 1 to 50"):
        fr.ask(project, "crash", k=k)


def test_a_rare_name_is_close_whatever_the_vectors_say(project: Index) -> None:
    answers = fr.ask(project, "ERR_SOCK_4711")
    assert answers.named
    assert answers.answers[0].id == "issue o/r#4"


def test_a_ticket_is_found_by_every_way_of_writing_it(project: Index) -> None:
    for id in ("pr o/r#12", "PR O/R#12", "o/r#12", "#12", "12", "pr 12"):
        assert find_ticket(project, id)[1].title == "Cache the session lookup", id
    assert find_ticket(project, "issue o/site#1")[1].author == "eve"
    with pytest.raises(InputError, match="'1' names 2 tickets"):
        find_ticket(project, "1")
    for id in ("pr o/r#2", "o/r#99", "", "note-1", "#", "pr", "9" * 40):
        with pytest.raises(InputError, match="no ticket"):
            find_ticket(project, id)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Index:
    place = tmp_path_factory.mktemp("demo")
    fr.build_index(fr.load_corpus("demo"), place)
    return fr.open_index(place)


def test_known_fixes_of_the_demo_are_found(demo: Index) -> None:
    from fastrecall.corpus import find_links, gold_from_links

    corpus = fr.load_corpus("demo")
    pairs = gold_from_links(corpus, find_links(corpus), ("published",)).pairs[::12]
    found = [
        pair.pr_node in {answer.node for answer in fr.ask(demo, pair.query, k=10).answers}
        for pair in pairs
    ]
    assert len(found) > 20
    assert sum(found) >= 0.9 * len(found)


@pytest.mark.parametrize("question", NONSENSE)
def test_nonsense_gets_no_answer(demo: Index, question: str) -> None:
    answers = fr.ask(demo, question)
    assert not answers.answers
    assert answers.nothing.startswith("Nothing close: the nearest ticket has a cosine of")


def test_a_node_that_does_not_exist_is_neither_found_nor_walked_through(project: Index) -> None:
    own, _ = find_ticket(project, "issue o/r#1")
    answers = fr.ask(project, "Crash when the configuration file is empty", without=own)
    assert own not in [answer.node for answer in answers.answers]
    assert all(answer.via is None for answer in answers.answers if answer.id == "pr o/r#11")


def test_the_fix_is_found_for_ten_titles_of_real_corpora(corpora: Path, tmp_path: Path) -> None:
    """Ten gold issues of the smallest corpus, picked by the hash of their numbers."""
    import hashlib

    from fastrecall.corpus import find_links, gold_from_links

    corpus = fr.load_corpus(corpora / "oblivious-http")
    fr.build_index(corpus, tmp_path)
    index = fr.open_index(tmp_path)
    pairs = gold_from_links(corpus, find_links(corpus), ("published",)).pairs
    issues = sorted(
        {pair.issue for pair in pairs if pair.pr_node >= 0},
        key=lambda number: hashlib.sha256(f"#{number}".encode()).hexdigest(),
    )[:10]
    hits = 0
    for number in issues:
        fixes = {pair.pr_node for pair in pairs if pair.issue == number}
        title = next(pair.query for pair in pairs if pair.issue == number)
        hits += bool(fixes & {answer.node for answer in fr.ask(index, title).answers})
    assert hits >= 9
