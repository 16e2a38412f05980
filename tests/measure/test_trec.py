from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastrecall.errors import CacheError, CorpusError, InputError
from fastrecall.measure import (
    Metric,
    Run,
    parse_metrics,
    read_qrels,
    read_run,
    score_run,
    write_qrels,
    write_run,
)

RUN = """\
q1 Q0 d1 1 9.5 demo
q1 Q0 d2 2 3 demo
q2 Q0 d1 1 1e-3 demo
"""

names = st.text(st.characters(blacklist_categories=("Z", "C")), min_size=1, max_size=6).filter(
    lambda name: name.split() == [name]
)
scores = st.floats(-1e6, 1e6, width=32) | st.sampled_from([0.0, 0.5, 1.0])


def listed(run: Run) -> dict[str, list[str]]:
    return {
        query: [run.docs[at] for at in run.ids[run.offsets[row] : run.offsets[row + 1]]]
        for row, query in enumerate(run.queries)
    }


def in_file(folder: Path, content: str | bytes) -> Path:
    path = folder / "file"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_a_run_is_read(tmp_path: Path) -> None:
    run = read_run(in_file(tmp_path, RUN))
    assert listed(run) == {"q1": ["d1", "d2"], "q2": ["d1"]}
    assert run.scores.tolist() == [9.5, 3.0, np.float32(1e-3)]
    assert run.tag == "demo"
    assert run.unsorted_line is None


def test_scores_decide_and_the_rank_column_does_not(tmp_path: Path) -> None:
    content = "q Q0 a 1 1 t\nr Q0 a 1 5 t\nq Q0 b 2 2 t\nr Q0 b 2 4 t\nq Q0 c 3 3 t\n"
    run = read_run(in_file(tmp_path, content))
    assert listed(run) == {"q": ["c", "b", "a"], "r": ["a", "b"]}
    assert run.unsorted_line == 3


def test_equal_scores_go_by_docno_descending_in_bytes(tmp_path: Path) -> None:
    content = "".join(f"q Q0 {doc} 1 0.5 t\n" for doc in ["d10", "d9", "é", "D9", "𝄞", "\uffee"])
    run = read_run(in_file(tmp_path, content))
    assert listed(run)["q"] == ["𝄞", "\uffee", "é", "d9", "d10", "D9"]


def test_scores_that_differ_beyond_32_bits_are_ties_as_in_trec_eval(tmp_path: Path) -> None:
    run = read_run(in_file(tmp_path, "q Q0 a 1 0.1234567892 t\nq Q0 b 2 0.1234567891 t\n"))
    assert listed(run)["q"] == ["b", "a"]


@pytest.mark.parametrize(
    "content",
    [
        RUN.encode().replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + RUN.encode(),
        RUN.encode().replace(b" ", b"\t"),
        b"\n" + RUN.encode().replace(b"\n", b"\n  \n"),
        RUN.encode().rstrip(b"\n"),
        gzip.compress(RUN.encode()),
    ],
    ids=["CRLF", "BOM", "tabs", "blank lines", "no last newline", "gzip"],
)
def test_spellings_of_a_run(tmp_path: Path, content: bytes) -> None:
    assert listed(read_run(in_file(tmp_path, content))) == {"q1": ["d1", "d2"], "q2": ["d1"]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("q Q0 d 1 0.5 t\nq Q0 d2 2 0.4\n", r":2: 5 fields; expected the 6 fields 'qid Q0"),
        ("q Q0 d 1 0.5 my tag\n", r":1: 7 fields"),
        ("q Q0 d 1 high t\n", r":1: the score is 'high'"),
        ("q Q0 d 1 nan t\n", r":1: the score is 'nan'"),
        ("q Q0 d 1 inf t\n", r":1: the score is 'inf'"),
        ("\nq Q0 d 1 2 t\nr Q0 d 1 2 t\n\nq Q0 d 2 1 t\n", r":5: the same .* as in line 2"),
        (b"q Q0 d 1 2 t\nq Q0 \xff 2 1 t\n", r":2: b'\\xff' is not UTF-8"),
        (b"\xffq Q0 d 1 2 t\n", r":1: b'\\xffq' is not UTF-8"),
        (gzip.compress(RUN.encode())[:-6], "gzip data is damaged or cut off"),
        (b"\x1f\x8bjunk", "gzip data is damaged"),
        (RUN.encode("utf-16"), r":1: "),
    ],
)
def test_a_bad_run_is_named_by_line(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        read_run(in_file(tmp_path, content))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("q 0 d 1\nq 0 d2\n", r":2: 3 fields; expected the 4 fields 'qid iteration"),
        ("q 0 d 1.0\n", r":1: the grade is '1.0'"),
        ("q 0 d 9999999999\n", r":1: the grade is '9999999999'"),
        ("q 0 d 1\nq 0 d 0\n", r":2: the same .* as in line 1"),
        ("", "no judgment in the file"),
    ],
)
def test_bad_qrels_are_named_by_line(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        read_qrels(in_file(tmp_path, content))


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"cannot read .*No such file"):
        read_run(tmp_path / "absent")
    with pytest.raises(CorpusError, match="cannot read"):
        read_qrels(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(CacheError, match="cannot write"):
        write_run(tmp_path / "file" / "run", {"q": {"d": 1.0}})


@given(
    run=st.dictionaries(names, st.dictionaries(names, scores, min_size=1, max_size=6), max_size=4),
    packed=st.booleans(),
)
def test_a_written_run_reads_back_in_the_same_order(
    tmp_path_factory: pytest.TempPathFactory, run: dict[str, dict[str, float]], packed: bool
) -> None:
    path = tmp_path_factory.mktemp("trec") / ("run.gz" if packed else "run")
    write_run(path, run)
    back = read_run(path)
    assert listed(back) == {
        query: sorted(found, key=lambda doc: -found[doc]) for query, found in run.items()
    }
    assert back.unsorted_line is None
    for row in range(len(back.queries)):
        assert (np.diff(back.scores[back.offsets[row] : back.offsets[row + 1]]) < 0).all()


@given(
    st.dictionaries(
        names,
        st.dictionaries(names, st.integers(-2, 5), min_size=1, max_size=6),
        min_size=1,
        max_size=4,
    )
)
def test_written_qrels_read_back(
    tmp_path_factory: pytest.TempPathFactory, qrels: dict[str, dict[str, int]]
) -> None:
    path = tmp_path_factory.mktemp("trec") / "qrels"
    write_qrels(path, qrels)
    back = read_qrels(path)
    gold = back.judgments
    found: dict[str, dict[str, int]] = {query: {} for query in back.queries}
    for row, at, grade in zip(gold.queries, gold.ids, gold.grades, strict=True):
        found[back.queries[row]][back.docs[at]] = int(grade)
    assert found == {
        query: {doc: grade for doc, grade in judged.items() if grade > 0}
        for query, judged in qrels.items()
    }


def test_equal_runs_give_equal_compressed_files(tmp_path: Path) -> None:
    for name in ("a.gz", "b.gz"):
        write_run(tmp_path / name, {"q": {"d": 1.0}})
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


@pytest.mark.parametrize("bad", ["a b", "", "a\u00a0b", "a\n", "\ud800"])
def test_names_that_the_format_cannot_hold_are_refused(tmp_path: Path, bad: str) -> None:
    path = tmp_path / "file"
    with pytest.raises(InputError, match="query name"):
        write_run(path, {bad: {"d": 1.0}})
    with pytest.raises(InputError, match="document name"):
        write_run(path, {"q": {bad: 1.0}})
    with pytest.raises(InputError, match="tag name"):
        write_run(path, {"q": {"d": 1.0}}, tag=bad)
    with pytest.raises(InputError, match="document name"):
        write_qrels(path, {"q": {bad: 1}})
    assert not path.exists()


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 1e39])
def test_scores_that_are_no_number_are_refused_and_leave_no_file(
    tmp_path: Path, bad: float
) -> None:
    with pytest.raises(InputError, match="query 'q2', document 'd2'"):
        write_run(tmp_path / "run", {"q1": {"d": 1.0}, "q2": {"d1": 1.0, "d2": bad}})
    assert list(tmp_path.iterdir()) == []


def test_a_run_is_scored_over_all_judged_queries(tmp_path: Path) -> None:
    write_run(tmp_path / "run", {"q1": {"a": 3, "b": 2, "c": 1}, "q2": {"x": 1}, "extra": {"a": 1}})
    write_qrels(
        tmp_path / "qrels",
        {"q3": {"a": 1}, "q1": {"b": 2, "zz": 1}, "q2": {"x": 0}, "q4": {"b": 1}},
    )
    metrics = parse_metrics(["mrr recall@2 chain_hit@2"])
    scores = score_run(read_run(tmp_path / "run"), read_qrels(tmp_path / "qrels"), metrics)
    assert scores.queries == ("q3", "q1", "q2", "q4")
    assert scores.values[Metric("mrr")].tolist() == [0, 0.5, 0, 0]
    assert scores.values[Metric("recall", 2)].tolist() == [0, 0.5, 0, 0]
    assert scores.absent == ("q3", "q4")
    assert scores.unjudged == ("extra",)
    assert scores.unanswerable == ("q2",)
    estimates = scores.estimates(samples=200)
    assert estimates[Metric("mrr")].mean == 0.125
    assert estimates[Metric("chain_hit", 2)][3:] == (4, 3, 1)


def test_an_empty_run_scores_zero(tmp_path: Path) -> None:
    write_qrels(tmp_path / "qrels", {"q1": {"b": 1}})
    run = read_run(in_file(tmp_path, ""))
    scores = score_run(run, read_qrels(tmp_path / "qrels"), [Metric("mrr")])
    assert scores.values[Metric("mrr")].tolist() == [0]
    assert scores.absent == ("q1",)


def test_a_compressed_file_with_nothing_in_it_is_cut_off(tmp_path: Path) -> None:
    (tmp_path / "run.txt.gz").write_bytes(b"")
    with pytest.raises(CorpusError, match=r"run\.txt\.gz: the gzip data is damaged or cut off"):
        read_run(tmp_path / "run.txt.gz")
