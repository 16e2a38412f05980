"""Tables and tickets are two forms of the same thing."""

from __future__ import annotations

import pyarrow as pa
import pytest
from tests.corpus.builders import issue, pr, record

from fastrecall.corpus.table import from_table, ticket_schema, to_table
from fastrecall.errors import CorpusError

TICKETS = [
    issue(1, "Crash 😀", "a\r\nb", repo="o/r", labels=("bug", "flaky"), state="CLOSED",
          state_reason="DUPLICATE", closed_at=5, comments=("one", ""), author="ann"),
    pr(2, "Fix", "", closes=(), is_bot=True, author="helper", base="main", state="OPEN"),
    pr(3, closes=(("o/r", 1), ("", 7)), merged_at=9, closed_at=9, state="MERGED",
       url="https://github.com/o/r/pull/3", repo="o/r", created_at=-5),
]  # fmt: skip


def test_tickets_survive_the_way_there_and_back() -> None:
    table = to_table(TICKETS)
    assert table.schema == ticket_schema()
    assert from_table(table) == TICKETS
    assert from_table(to_table([])) == []


def test_tickets_survive_parquet(tmp_path: object) -> None:
    import pyarrow.parquet as pq

    file = f"{tmp_path}/tickets.parquet"
    pq.write_table(to_table(TICKETS * 2000), file, row_group_size=1000)
    assert from_table(pq.read_table(file)) == TICKETS * 2000


def test_the_columns_of_gh_are_understood() -> None:
    rows = [
        record(1, kind="issue", labels=[{"name": "bug"}], closingIssuesReferences=None),
        record(2, kind="pr", labels=[], closingIssuesReferences=[{"number": 1}]),
    ]
    first, second = from_table(pa.Table.from_pylist(rows))
    assert (first.labels, first.closes) == (("bug",), None)
    assert (second.closes, second.author) == ((("", 1),), "someone")


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "+03:00"])
def test_times_of_any_unit_and_zone(unit: str, zone: str | None) -> None:
    factor = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    times = pa.array([1_700_000_000 * factor + factor // 2], type=pa.timestamp(unit, tz=zone))
    table = pa.table({"kind": ["pr"], "number": [1], "createdAt": times})
    assert from_table(table)[0].created_at == 1_700_000_000


def test_dictionary_columns_and_large_strings() -> None:
    table = pa.table(
        {
            "kind": pa.array(["pr", "issue"]).dictionary_encode(),
            "number": pa.array([1, 2], type=pa.int32()),
            "title": pa.array(["a", None], type=pa.large_string()),
            "created_at": [0, 1],
        }
    )
    assert [(t.kind, t.title) for t in from_table(table)] == [("pr", "a"), ("issue", "")]


def test_a_bad_row_is_named() -> None:
    table = pa.table({"kind": ["pr", "pr"], "number": [1, 0], "created_at": [0, 1]})
    with pytest.raises(CorpusError, match="table, row 2: number is 0"):
        from_table(table)
