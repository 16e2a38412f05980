"""Gold pairs: from links, from files, to files, and compared."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.corpus.builders import corpus, issue, pr

from fastrecall.corpus import (
    compare_gold,
    corpus_from_gold,
    find_links,
    gold_from_links,
    gold_from_rows,
    links_from_gold,
    make_gold,
    read_gold,
    write_gold,
)
from fastrecall.corpus.gold import GoldRow, gold_csv
from fastrecall.errors import CacheError, CorpusError
from fastrecall.types import GoldPair

HISTORY = corpus(
    issue(1, "Crash " * 50), issue(2, "Slow, \"very\"\nslow"),
    pr(7, "Fix; both", "fixes #1, fixes #2"), pr(8, "More", "Closes: #2"),
)  # fmt: skip
ROWS = (GoldRow(1, 7, "Crash", "Fix"), GoldRow(2, 7, "Slow", "Fix"))


def file(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    path = folder / "gold.csv"
    path.write_bytes(text.encode(encoding))
    return path


def test_from_links() -> None:
    links = find_links(HISTORY)
    gold = gold_from_links(HISTORY, links, ["published"])
    assert [(p.issue, p.pr, p.issue_node, p.pr_node) for p in gold.pairs] == [
        (1, 7, 0, 2),
        (2, 7, 1, 2),
    ]
    assert gold.pairs[0].query == ("Crash " * 50)[:120]
    assert gold.pairs[0].pr_title == "Fix; both"
    assert gold.origin == "links: published"
    assert len(gold_from_links(HISTORY, links, ["published", "github"])) == 3
    assert len(gold_from_links(HISTORY, links.of("github"))) == 3
    assert gold_from_links(HISTORY, links).origin == "links"


def test_written_gold_reads_back(tmp_path: Path) -> None:
    gold = gold_from_links(HISTORY, find_links(HISTORY))
    path = tmp_path / "new" / "gold.csv"
    write_gold(path, gold)
    assert path.read_text(encoding="utf-8").partition("\n")[0] == "issue,pr,query,pr_title"
    again = gold_from_rows(HISTORY, read_gold(path))
    assert again.pairs == gold.pairs
    assert again.fingerprint == gold.fingerprint


def test_columns_appear_when_they_are_needed(tmp_path: Path) -> None:
    history = corpus(
        issue(1, repo="a/a"), issue(1, repo="b/b"), pr(2, repo="b/b", body="fixes #1, fixes a/a#1")
    )
    gold = gold_from_links(history, find_links(history))
    path = tmp_path / "gold.csv"
    write_gold(path, gold)
    assert path.read_text().splitlines() == [
        "issue,pr,query,pr_title,repo,pr_repo",
        "1,2,Crash,Change,a/a,b/b",
        "1,2,Crash,Change,b/b,",
    ]
    assert gold_from_rows(history, read_gold(path)).pairs == gold.pairs
    graded = make_gold([GoldPair("", 1, 2, "q", "t", -1, -1, grade=3)], origin="")
    assert gold_csv(graded) == "issue,pr,query,pr_title,grade\n1,2,q,t,3\n"


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CacheError, match="cannot write"):
        write_gold(tmp_path / "file" / "gold.csv", make_gold([], origin=""))


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("issue,pr,query,pr_title\n1,7,Crash,Fix\n2,7,Slow,Fix\n", "utf-8"),
        ("issue,pr,query,pr_title\r\n1,7,Crash,Fix\r\n2,7,Slow,Fix", "utf-8-sig"),
        ("issue;pr;query;pr_title\n1;7;Crash;Fix\n2;7;Slow;Fix\n", "utf-8"),
        ("issue\tpr\tquery\tpr_title\n1\t7\tCrash\tFix\n2\t7\tSlow\tFix\n", "utf-16"),
        (
            '"issue","pr","query","pr_title"\n"1","7","Crash","Fix"\n\n"2","7","Slow","Fix"\n',
            "utf-8",
        ),
        ("note,PR_Title,Query ,Issue,PR\nx,Fix,Crash,1, 7\ny,Fix,Slow,2,7\n", "utf-8"),
        ("issue,pr,query,pr_title,repo,grade\n1,7,Crash,Fix,,\n2,7,Slow,Fix,,1\n,,,,,\n", "utf-8"),
    ],
)
def test_dresses_of_a_file(tmp_path: Path, text: str, encoding: str) -> None:
    assert read_gold(file(tmp_path, text, encoding)) == ROWS


def test_line_breaks_inside_quotes(tmp_path: Path) -> None:
    rows = read_gold(file(tmp_path, 'issue,pr,query,pr_title\n1,7,"a\r\nb ""c""",x\n2,7,d,\n'))
    assert rows[0].query == 'a\r\nb "c"'
    assert rows[1].pr_title == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the columns are nothing; expected issue, pr, query, pr_title"),
        ("a,b\n1,2\n", "the columns are a, b; expected issue, pr, query, pr_title"),
        ("issue,pr,query\n1,2,x\n", "so pr_title must be added"),
        ("[{}]", "the columns are"),
        ("issue,pr,query,pr_title\n1,x,q,t\n", "line 2: pr is 'x'; expected a whole number"),
        ("issue,pr,query,pr_title\n1,2,q,t\n-1,2,q,t\n", "line 3: issue is '-1'"),
        ("issue,pr,query,pr_title\n1.0,2,q,t\n", "line 2: issue is '1.0'"),
        ("issue,pr,query,pr_title\n,2,q,t\n", "line 2: issue is ''"),
        ("issue,pr,query,pr_title\n0,2,q,t\n", "line 2: issue is '0'"),
        ("issue,pr,query,pr_title\n99999999999,2,q,t\n", "line 2: issue is"),
        ("issue,pr,query,pr_title\n٣,2,q,t\n", "line 2: issue is '\\u0663'"),
        ('issue,pr,query,pr_title\n1,2,"a\nb",t\n3,x,q,t\n', "line 4: pr is 'x'"),
        ("issue,pr,query,pr_title\n1,2,,t\n", "line 2: query is empty"),
        ("issue,pr,query,pr_title\n1,2,q\n", "line 2: 3 fields; expected 4"),
        ("issue,pr,query,pr_title\n1,2,a, b,t\n", "line 2: 5 fields; expected 4"),
        ('issue,pr,query,pr_title\n1,2,"a,t\n', "not valid CSV"),
        ("issue,pr,query,pr_title,grade\n1,2,q,t,high\n", "line 2: grade is 'high'"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_line(tmp_path: Path, text: str, words: str) -> None:
    path = file(tmp_path, text)
    with pytest.raises(CorpusError) as caught:
        read_gold(path)
    assert str(path) in str(caught.value)
    assert words in str(caught.value)


def test_files_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "gold.csv"
    path.write_bytes("issue,pr,query,pr_title\n1,2,Ж,t\n".encode("cp1251"))
    with pytest.raises(CorpusError, match="not valid utf-8 at byte 28; save the file as UTF-8"):
        read_gold(path)
    with pytest.raises(CorpusError, match="cannot read"):
        read_gold(tmp_path / "none.csv")
    with pytest.raises(CorpusError, match="cannot read"):
        read_gold(tmp_path)


@settings(deadline=None)
@given(st.binary(max_size=80), st.booleans())
def test_junk_is_never_anything_but_refused(
    tmp_path_factory: pytest.TempPathFactory, junk: bytes, headed: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "junk.csv"
    path.write_bytes((b"issue,pr,query,pr_title\n1,2,a,b\n" if headed else b"") + junk)
    try:
        gold_from_rows(HISTORY, read_gold(path))
    except CorpusError as error:
        assert str(path) in str(error)  # noqa: PT017


def test_pairs_stand_once_and_in_order() -> None:
    rows = [GoldRow(2, 7, "b", ""), GoldRow(1, 8, "a", ""), GoldRow(2, 7, "b", "", grade=2)]
    gold = gold_from_rows(HISTORY, rows)
    assert [(pair.issue, pair.pr, pair.grade) for pair in gold.pairs] == [(1, 8, 1), (2, 7, 2)]


def test_tickets_that_are_not_in_the_corpus() -> None:
    gold = gold_from_rows(HISTORY, [GoldRow(1, 99, "q", ""), GoldRow(7, 1, "q", "")])
    assert [(pair.issue_node, pair.pr_node) for pair in gold.pairs] == [(0, -1), (-1, -1)]


def test_rows_without_repository_in_a_corpus_of_several() -> None:
    history = corpus(issue(1, repo="a/a"), issue(1, repo="b/b"), issue(2, repo="b/b"),
                     pr(3, repo="b/b"))  # fmt: skip
    assert gold_from_rows(history, [GoldRow(2, 3, "q", "")]).pairs[0].pr_node == 3
    assert gold_from_rows(history, [GoldRow(1, 3, "q", "", repo="B/b")]).pairs[0].issue_node == 1
    assert gold_from_rows(history, [GoldRow(9, 3, "q", "")]).pairs[0].issue_node == -1
    with pytest.raises(CorpusError, match="a/a and b/b have an issue #1; add a column repo"):
        gold_from_rows(history, [GoldRow(1, 3, "q", "")])


def test_a_corpus_of_titles_alone() -> None:
    rows = [*ROWS, GoldRow(2, 8, "Slower", "More")]
    history = corpus_from_gold(rows, name="pairs")
    assert [ticket.title for ticket in history.tickets] == ["Crash", "Slow", "Fix", "More"]
    assert history.titles_only
    assert "flatters every arm" in history.notes[0]
    assert "1 tickets have several titles" in history.notes[1]
    gold = gold_from_rows(history, rows)
    links = links_from_gold(history, gold)
    assert list(zip(links.issues.tolist(), links.prs.tolist(), strict=True)) == [
        (0, 2),
        (1, 2),
        (1, 3),
    ]
    assert len(links.of("published")) == 3
    with pytest.raises(CorpusError, match="no pairs"):
        corpus_from_gold([])


def test_pairs_outside_the_corpus_are_no_links() -> None:
    gold = gold_from_rows(HISTORY, [GoldRow(1, 99, "q", ""), GoldRow(1, 8, "q", "")])
    assert links_from_gold(HISTORY, gold).prs.tolist() == [3]


def test_differences_both_ways() -> None:
    found = gold_from_links(HISTORY, find_links(HISTORY), ["published"])
    given = gold_from_rows(HISTORY, [GoldRow(1, 7, "other", ""), GoldRow(2, 99, "q", "")])
    difference = compare_gold(found, given)
    assert [pair.issue for pair in difference.only_found] == [2]
    assert [pair.pr for pair in difference.only_given] == [99]
    summary, lost, extra = difference.lines()
    assert summary.startswith("1 pairs were found by rule and not given, 1 were given")
    assert lost.startswith("only found: issue #2, PR #7: Slow")
    assert extra == "only given: issue #2, PR #99 (the PR is not in the corpus): q"
    assert compare_gold(found, found).lines() == [
        "the pairs found by rule and the pairs given are the same"
    ]


def test_a_repository_spelled_in_two_ways_is_one() -> None:
    rows = [
        GoldRow(5, 7, "Crash", "Fix", repo="Owner/Name"),
        GoldRow(6, 8, "Slow", "Faster", repo="owner/name"),
    ]
    corpus = corpus_from_gold(rows)
    pairs = gold_from_rows(corpus, rows).pairs
    assert corpus.repos == ("Owner/Name",)
    assert all(pair.issue_node >= 0 and pair.pr_node >= 0 for pair in pairs)
