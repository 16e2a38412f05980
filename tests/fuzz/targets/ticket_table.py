"""Tables of tickets with other columns and types than ours: JSON rows, as Arrow takes them."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
from tests.fuzz.common import expected_errors, must_hold, scratch_folder
from tests.fuzz.mutate import json_text as mutate

from fastrecall.corpus import load_corpus
from fastrecall.corpus.table import from_table, to_table

__all__ = ["mutate", "run"]

NOT_A_TABLE = (
    *(LookupError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError),
    pa.ArrowException,
)


def run(data: bytes) -> None:
    try:
        rows = json.loads(data)
        table = pa.Table.from_pylist(rows)
        for at, name in enumerate(table.column_names):
            if name.endswith("_time"):  # a moment in another unit
                unit = ("s", "ms", "us", "ns")[at % 4]
                moments = table.column(at).cast(pa.int64()).cast(pa.timestamp(unit, tz="UTC"))
                table = table.set_column(at, name.removesuffix("_time"), moments)
        path = scratch_folder() / "tickets.parquet"
        pq.write_table(table, path)
    except NOT_A_TABLE:
        return  # no table
    with expected_errors():
        tickets = from_table(table)
        must_hold(from_table(to_table(tickets)) == tickets, "other tickets after writing")
    with expected_errors():
        load_corpus(path, window_prs=None, window_issues=None, author_filter=None)
