"""Corpora from folders, files and records."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.corpus.builders import record, write_json

from fastrecall.corpus import corpus_from_records, load_corpus
from fastrecall.corpus.table import to_table
from fastrecall.errors import CorpusError, InputError
from fastrecall.types import Corpus

ISSUES = [record(number, url=f"https://github.com/o/r/issues/{number}") for number in (1, 3, 5)]
PRS = [record(number, url=f"https://github.com/o/r/pull/{number}") for number in (2, 4)]


def refs(corpus: Corpus) -> list[tuple[str, int]]:
    return [(ticket.kind, ticket.number) for ticket in corpus.tickets]


NODES = [("issue", 1), ("issue", 3), ("issue", 5), ("pr", 2), ("pr", 4)]


def as_lines(records: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(one) + "\n" for one in records)


def store_json(folder: Path) -> None:
    write_json(folder / "prs.json", PRS)
    write_json(folder / "issues.json", ISSUES)


def store_packed(folder: Path) -> None:
    (folder / "prs.json.gz").write_bytes(gzip.compress(json.dumps(PRS).encode()))
    (folder / "issues.json.gz").write_bytes(gzip.compress(json.dumps(ISSUES).encode()))


def store_named(folder: Path) -> None:
    write_json(folder / "ydb-prs.json", PRS)
    write_json(folder / "ydb-issues.json", ISSUES)
    (folder / "state.json").write_text('"not a corpus"')
    (folder / "notes.txt").write_text("not a corpus")


def store_lines(folder: Path) -> None:
    (folder / "all.jsonl").write_text(as_lines(PRS + ISSUES))


def store_packed_lines(folder: Path) -> None:
    (folder / "all.jsonl.gz").write_bytes(gzip.compress(as_lines(ISSUES + PRS).encode()))


def store_mixed(folder: Path) -> None:
    write_json(folder / "tickets.json", ISSUES + PRS)


def store_parquet(folder: Path) -> None:
    import pyarrow.parquet as pq

    store_json(folder)
    corpus = load_corpus(folder)
    (folder / "prs.json").unlink()
    (folder / "issues.json").unlink()
    pq.write_table(to_table(corpus.tickets), folder / "tickets.parquet")
    (folder / "state.json").write_text("{}")


def store_parquet_of_gh_columns(folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    for name, records in (("prs", PRS), ("issues", ISSUES)):
        table = pa.Table.from_pylist(records)
        pq.write_table(table, folder / f"{name}.parquet", row_group_size=2)


@pytest.mark.parametrize(
    "store",
    [store_json, store_packed, store_named, store_lines, store_packed_lines, store_mixed,
     store_parquet, store_parquet_of_gh_columns],
)  # fmt: skip
def test_every_form_of_a_folder_is_the_same_corpus(tmp_path: Path, store: Any) -> None:
    known = corpus_from_records(ISSUES, PRS, name="known")
    store(tmp_path)
    corpus = load_corpus(tmp_path)
    assert refs(corpus) == NODES
    assert corpus.repos == ("o/r",)
    assert corpus.tickets == known.tickets
    assert corpus.fingerprint == known.fingerprint
    assert corpus.name == tmp_path.name
    assert corpus.notes == ()


def test_the_demo_comes_in_any_size() -> None:
    corpus = load_corpus("demo:500", window_issues=50)
    assert (corpus.name, corpus.generated) == ("demo:500", True)
    assert corpus.cut.read_issues + corpus.cut.read_prs == 500
    assert corpus.cut.kept_issues == 50
    assert load_corpus("demo:1200").fingerprint == load_corpus("demo").fingerprint


@pytest.mark.parametrize("number", ["", "x", "119", "-500", "5e3", "1_000", "٥٠٠", "9" * 5000])
def test_a_demo_of_no_such_size_is_named(number: str) -> None:
    with pytest.raises(InputError, match=r"names no demo corpus; expected a number of tickets"):
        load_corpus(f"demo:{number}")


def test_single_files_and_named_files(tmp_path: Path) -> None:
    prs = write_json(tmp_path / "a.json", PRS)
    issues = write_json(tmp_path / "b.json", ISSUES)
    assert refs(load_corpus(prs=prs, issues=str(issues))) == NODES
    assert refs(load_corpus(write_json(tmp_path / "all.json", ISSUES + PRS))) == NODES
    assert load_corpus(issues=issues, name="my corpus").name == "my corpus"
    assert load_corpus(issues=issues).name == "b"


def test_a_plain_file_hides_its_packed_twin(tmp_path: Path) -> None:
    store_json(tmp_path)
    store_packed(tmp_path)
    assert load_corpus(tmp_path).notes == ()


def test_json_goes_before_parquet_in_one_folder(tmp_path: Path) -> None:
    store_json(tmp_path)
    (tmp_path / "tickets.parquet").write_bytes(b"junk")
    assert refs(load_corpus(tmp_path)) == NODES


def test_a_name_with_a_slash_is_the_repository_of_records_without_one(tmp_path: Path) -> None:
    issues = write_json(tmp_path / "issues.json", [record(1), record(2, repo="other/one")])
    assert load_corpus(issues, name="o/r").repos == ("o/r", "other/one")
    assert load_corpus(issues, name="my name").repos == ("other/one",)


def test_one_named_repository_names_the_records_that_say_nothing() -> None:
    corpus = corpus_from_records([record(1)], [record(2, repo="o/r")], name="x")
    assert corpus.repos == ("o/r",)
    assert corpus.node("o/r", "issue", 1) == 0


def test_several_repositories_stay_apart() -> None:
    issues = [record(1, repo="b/b"), record(1, repo="a/a", createdAt="2020-01-01T00:00:00Z")]
    corpus = corpus_from_records(issues, [record(1, repo="c/c")], name="x")
    assert [ticket.ref for ticket in corpus.tickets] == ["a/a#1", "b/b#1", "c/c#1"]
    assert corpus.notes == ()


def test_pull_requests_among_the_issues_are_left_out(tmp_path: Path) -> None:
    listed = [*ISSUES, record(2, pull_request={"url": "x"})]
    corpus = corpus_from_records(listed, PRS, name="x")
    assert refs(corpus) == NODES
    assert corpus.cut.read_issues == 3
    assert corpus.notes == ("issues: 1 pull requests were listed among the issues and left out",)
    mixed = write_json(tmp_path / "all.json", [*ISSUES, *(PRS[:1]), record(4, pull_request={})])
    assert refs(load_corpus(mixed)) == NODES


def test_prs_listed_as_issues_without_a_sign_count_as_prs() -> None:
    for issues in ([*ISSUES, *PRS], [*PRS, *ISSUES]):
        stripped = [{k: v for k, v in one.items() if k != "url"} for one in issues]
        prs = [{k: v for k, v in one.items() if k != "url"} for one in PRS]
        corpus = corpus_from_records(stripped, prs, name="x")
        assert refs(corpus) == NODES
        assert corpus.cut.read_issues == 3
        assert "2 PRs are listed among the issues too" in corpus.notes[0]


def test_identical_repeats_are_merged_and_told() -> None:
    corpus = corpus_from_records(ISSUES + ISSUES[:2], PRS, name="x")
    assert refs(corpus) == NODES
    assert corpus.cut.read_issues == 3
    assert corpus.notes == (
        "2 records repeat a number that was there before; one of each was kept",
    )


@pytest.mark.parametrize("order", [1, -1])
def test_of_differing_repeats_the_last_updated_stays(order: int) -> None:
    old = record(1, title="old", updatedAt="2024-06-01T00:00:00Z")
    new = record(1, title="new", updatedAt="2024-06-02T00:00:00Z")
    corpus = corpus_from_records([old, new][::order], [], name="x")
    assert corpus.tickets[0].title == "new"
    assert "1 of them differ: the newest updatedAt was kept" in corpus.notes[0]


def test_of_differing_repeats_without_a_date_the_last_stays() -> None:
    corpus = corpus_from_records([record(1, title="a"), record(1, title="b")], [], name="x")
    assert corpus.tickets[0].title == "b"


def test_one_number_with_two_creation_times_means_mixed_repositories(tmp_path: Path) -> None:
    file = write_json(
        tmp_path / "issues.json", [record(1), record(1, createdAt="2020-01-01T00:00:00Z")]
    )
    with pytest.raises(CorpusError, match=r"issues\.json, record 2: number 1 .* field repo"):
        load_corpus(file)


def test_an_issue_and_a_pr_with_one_number_are_told() -> None:
    prs = [record(1, createdAt="2020-01-01T00:00:00Z")]
    corpus = corpus_from_records([record(1)], prs, name="x")
    assert refs(corpus) == [("issue", 1), ("pr", 1)]
    assert "1 numbers belong to an issue and to a PR (the first is #1)" in corpus.notes[0]


@pytest.mark.parametrize(("count", "told"), [(30, True), (1000, True), (29, False), (31, False)])
def test_a_count_like_a_limit_is_told(tmp_path: Path, count: int, told: bool) -> None:
    file = write_json(tmp_path / "issues.json", [record(number) for number in range(1, count + 1)])
    notes = load_corpus(file).notes
    assert any(f"exactly {count} records" in note for note in notes) == told


def test_mended_texts_are_told() -> None:
    corpus = corpus_from_records([record(1, body="\ud800", title="\udc00")], [], name="x")
    assert corpus.notes == (
        "2 texts held characters that are not valid Unicode; each became U+FFFD",
    )


def test_errors_name_the_file_the_record_and_what_to_do(tmp_path: Path) -> None:
    bad = [record(1), record(2) | {"createdAt": "soon"}]
    file = write_json(tmp_path / "issues.json", bad)
    with pytest.raises(CorpusError) as caught:
        load_corpus(file)
    assert str(caught.value) == (
        f"{file}, record 2: createdAt is 'soon'; expected a time like 2024-05-31T12:00:00Z"
    )


def test_parquet_errors_name_the_file(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = tmp_path / "issues.parquet"
    file.write_bytes(b"PAR1 junk")
    with pytest.raises(CorpusError, match="not a readable Parquet file"):
        load_corpus(file)
    pq.write_table(pa.table({"number": [1], "title": ["x"]}), file)
    with pytest.raises(CorpusError, match=r"issues\.parquet, record 1: createdAt is missing"):
        load_corpus(file)


def test_nothing_there_and_nothing_inside(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no such file or folder"):
        load_corpus(tmp_path / "none")
    with pytest.raises(CorpusError, match="no such file or folder"):
        load_corpus("x" * 5000)
    with pytest.raises(CorpusError, match="no such file; expected"):
        load_corpus(prs=tmp_path / "none.json")
    with pytest.raises(CorpusError, match="fastrecall fetch some/where"):
        load_corpus("some/where")
    with pytest.raises(CorpusError, match="it holds nothing"):
        load_corpus(tmp_path)
    write_json(tmp_path / "issues.json", [])
    with pytest.raises(CorpusError, match="0 issues and 0 PRs were read and none kept"):
        load_corpus(tmp_path)
    with pytest.raises(InputError, match="no corpus was named"):
        load_corpus()


def test_a_window_that_keeps_nothing_is_refused() -> None:
    with pytest.raises(CorpusError, match="3 issues and 2 PRs were read and none kept"):
        corpus_from_records(ISSUES, PRS, name="x", window_prs=0, window_issues=0)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats()
    | st.sampled_from(["", "é", "2024-05-31T12:00:00Z", "app/x", "\ud800", "https://github.com/o/r/pull/1"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["login", "name", "nodes", "body", "number", "owner", "nameWithOwner"]),
        inner,
        max_size=3,
    ),
    max_leaves=8,
)  # fmt: skip
FIELDS = [
    "number", "createdAt", "title", "body", "author", "labels", "comments", "state", "closedAt",
    "closingIssuesReferences", "repo", "url", "kind", "pull_request", "updatedAt", "baseRefName",
]  # fmt: skip


@settings(
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    st.lists(
        st.builds(
            lambda number, odd: record(number) | odd,
            st.integers(1, 3),
            st.dictionaries(st.sampled_from(FIELDS), json_values, max_size=2),
        ),
        max_size=4,
    )
)
def test_any_records_make_a_corpus_or_a_clear_refusal(
    tmp_path: Path, records: list[dict[str, Any]]
) -> None:
    from fastrecall.corpus import find_duplicates, find_links, gold_from_links, node_texts

    file = write_json(tmp_path / "all.json", records)
    for options in ({"source": file}, {"issues": file}, {"prs": file}):
        try:
            corpus = load_corpus(**options)
        except CorpusError as error:
            assert str(file) in str(error)  # noqa: PT017
            continue
        "".join(node_texts(corpus)).encode()
        gold_from_links(corpus, find_links(corpus), ["published", "mentions"])
        find_duplicates(corpus)
        to_table(corpus.tickets)
