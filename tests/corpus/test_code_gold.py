"""The gold file of code search: what is read, what is refused, what is credited."""

from __future__ import annotations

from pathlib import Path

import pytest

from fastrecall.corpus.code import CodeChunk
from fastrecall.corpus.code_gold import CodeQuery, CodeTarget, load_code_gold
from fastrecall.errors import CorpusError


def chunk(path: str, start: int, end: int) -> CodeChunk:
    return CodeChunk(path, "rust", (), start, end, "")


def test_a_gold_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "gold.csv"
    file.write_text(
        "\ufeffquery,result1,result2,result3\n"
        "where do we retry,src/net.rs:30-40:1,./src/a.rs:1-2:2,\n\n"
        '"commas, too",C:/odd.rs:5-5:3,,\n'
    )
    gold = load_code_gold(file)
    assert [query.text for query in gold.queries] == ["where do we retry", "commas, too"]
    assert gold.queries[0].targets == (
        CodeTarget("src/a.rs", 1, 2, 2),
        CodeTarget("src/net.rs", 30, 40, 1),
    )
    assert gold.queries[1].targets[0].path == "C:/odd.rs"
    assert gold.absent([chunk("src/a.rs", 2, 9), chunk("C:/odd.rs", 6, 9)]) == (
        CodeTarget("src/net.rs", 30, 40, 1),
        CodeTarget("C:/odd.rs", 5, 5, 3),
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "line 1: columns are missing; expected query,result1,result2,result3"),
        ("question,result1\n", "line 1: columns are question,result1; expected query,"),
        ("query,result1\n", "holds no query"),
        ("query,result1\nq,\n", "line 2: no result; expected at least one path:start-end:grade"),
        ("query,result1\n,a:1-2:1\n", "line 2: the query is empty"),
        (
            "query,result1\n\nq,a.rs:1-2\n",
            "line 3: result 'a.rs:1-2'; expected path:start-end:grade",
        ),
        ("query,result1\nq,a.rs:3-2:1\n", "line 2: lines 3-2; expected 1 <= start <= end"),
        ("query,result1\nq,a.rs:0-2:1\n", "line 2: lines 0-2"),
        ("query,result1\nq,a.rs:1-2:0\n", "line 2: grade 0; expected 1 or more"),
        ("query,result1\nq,a:1-2:1,b:1-2:1\n", "line 2: 3 cells under 2 columns"),
        ("query,result1\nq,a:1-2:1\nq,b:1-2:1\n", "line 3: the query stands in line 2 already"),
        ('query,result1\n"q,a:1-2:1\n', "line 2: not a CSV row"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "gold.csv"
    file.write_text(content)
    with pytest.raises(CorpusError, match=message.replace("(", r"\(")):
        load_code_gold(file)


def test_unreadable_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="cannot read gold file"):
        load_code_gold(tmp_path / "none.csv")
    (tmp_path / "latin.csv").write_bytes(b"query,result1\ncaf\xe9,a:1-2:1\n")
    with pytest.raises(CorpusError, match="is not UTF-8"):
        load_code_gold(tmp_path / "latin.csv")


def test_a_target_is_credited_once_and_a_chunk_credits_one_target() -> None:
    query = CodeQuery("q", (CodeTarget("a", 10, 20, 2), CodeTarget("a", 15, 40, 1)), 2)
    ranking = [chunk("b", 1, 99), chunk("a", 1, 18), chunk("a", 19, 30), chunk("a", 31, 60)]
    assert query.first_ranks(ranking) == (2, 2)
    assert query.credited_ranks(ranking) == (2, 3)
    assert query.first_ranks(ranking[:1]) == (None, None)
    # Three chunks on one target: it is found once, at the first.
    one = CodeQuery("q", (CodeTarget("a", 1, 99, 1),), 2)
    assert one.credited_ranks(ranking) == (2,)
