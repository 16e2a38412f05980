"""Tickets as an Arrow table: the form in which fetched corpora are stored (Parquet)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastrecall.corpus._records import BadField, RecordReader
from fastrecall.errors import CorpusError
from fastrecall.types import Ticket

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS = 1024


def ticket_schema() -> pa.Schema:
    """One column a field of `Ticket`, with the same names; times are UTC, to the second."""
    import pyarrow as pa

    moment = pa.timestamp("s", tz="UTC")
    reference = pa.struct([("repo", pa.string()), ("number", pa.int64())])
    return pa.schema(
        [
            pa.field("repo", pa.string(), nullable=False),
            pa.field("kind", pa.string(), nullable=False),
            pa.field("number", pa.int64(), nullable=False),
            pa.field("title", pa.string(), nullable=False),
            pa.field("body", pa.string(), nullable=False),
            pa.field("created_at", moment, nullable=False),
            pa.field("author", pa.string(), nullable=False),
            pa.field("is_bot", pa.bool_(), nullable=False),
            pa.field("state", pa.string(), nullable=False),
            pa.field("state_reason", pa.string(), nullable=False),
            pa.field("closed_at", moment),
            pa.field("merged_at", moment),
            pa.field("labels", pa.list_(pa.string()), nullable=False),
            pa.field("closes", pa.list_(reference)),
            pa.field("comments", pa.list_(pa.string()), nullable=False),
            pa.field("base", pa.string(), nullable=False),
            pa.field("url", pa.string(), nullable=False),
            pa.field("head", pa.string(), nullable=False),
            pa.field("commits", pa.list_(pa.string()), nullable=False),
        ]
    )


def to_table(tickets: Iterable[Ticket]) -> pa.Table:
    """The tickets as a table with `ticket_schema`, one row each, in the order given.

    >>> to_table([Ticket("", "pr", 7, "Fix", "", 0)]).num_rows
    1
    """
    import pyarrow as pa

    tickets = list(tickets)
    schema = ticket_schema()
    columns = [
        pa.array([_cell(ticket, field.name) for ticket in tickets], type=field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _cell(ticket: Ticket, name: str) -> Any:
    if name == "closes" and ticket.closes is not None:
        return [{"repo": repo, "number": number} for repo, number in ticket.closes]
    return getattr(ticket, name)


def tickets_of(table: pa.Table) -> list[Ticket]:
    """The tickets of a table that `to_table` made: nothing is checked or mended, as it is fast.

    >>> tickets_of(to_table([Ticket("", "pr", 7, "Fix", "", 0)]))[0].ref
    '#7'
    """
    import pyarrow as pa

    columns = []
    for field in ticket_schema():
        column = table.column(field.name)
        if pa.types.is_timestamp(field.type):
            # Parquet knows no whole seconds, and gives back milliseconds.
            column = column.cast(field.type).cast(pa.int64())
        values = column.to_pylist()
        if field.name == "closes":
            values = [_references(cell) for cell in values]
        elif pa.types.is_list(field.type):
            values = list(map(tuple, values))
        columns.append(values)
    # The schema has one column a field of `Ticket`, in its order.
    return list(map(Ticket, *columns))


def misfit(table: pa.Table) -> str | None:
    """The column of a table that `to_table` has not written so; None: all are as it writes them.

    >>> misfit(to_table([Ticket("", "pr", 7, "Fix", "", 0)])) is None
    True
    """
    import pyarrow as pa

    for field in ticket_schema():
        places = table.schema.get_all_field_indices(field.name)
        if len(places) != 1:
            return str(field.name)
        column = table.column(places[0])
        # Parquet knows no whole seconds.
        both_times = pa.types.is_timestamp(field.type) and pa.types.is_timestamp(column.type)
        if not (both_times or column.type == field.type) or _lacks_values(column, field):
            return str(field.name)
    return None


def _lacks_values(column: pa.ChunkedArray, field: pa.Field) -> bool:
    """Whether a column has no value somewhere where its field wants one."""
    import pyarrow as pa

    if column.null_count and not field.nullable:
        return True
    if not pa.types.is_list(column.type):
        return False
    inside = [chunk.flatten() for chunk in column.chunks]
    if pa.types.is_struct(column.type.value_type):
        inside += [part for chunk in inside for part in chunk.flatten()]
    return any(chunk.null_count for chunk in inside)


def _references(cell: list[dict[str, Any]] | None) -> tuple[tuple[str, int], ...] | None:
    return None if cell is None else tuple((one["repo"], one["number"]) for one in cell)


def from_table(table: pa.Table) -> list[Ticket]:
    """The tickets in a table: `ticket_schema`, or the same columns by the names ``gh`` gives them.

    Raises:
        CorpusError: a column is missing or of another kind; the message names the row, from 1.

    >>> from_table(to_table([Ticket("", "pr", 7, "Fix", "", 0)]))[0].ref
    '#7'
    """
    reader = RecordReader()
    tickets: list[Ticket] = []
    for row in _rows(table.to_batches(max_chunksize=_ROWS)):
        try:
            tickets.append(reader.ticket(row, None)[0])
        except BadField as error:  # noqa: PERF203 - the row number belongs into the message
            raise CorpusError(f"table, row {len(tickets) + 1}: {error}") from None
    return tickets


def stream_parquet(path: Path) -> Iterator[Mapping[str, Any]]:
    """The rows of a Parquet file as records, with bounded memory.

    Raises:
        CorpusError: the file cannot be opened or is damaged.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            yield from _rows(file.iter_batches(batch_size=_ROWS))
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, (BadField, CorpusError)):
            raise
        reason = str(error).partition("\n")[0]
        raise CorpusError(
            f"{path}: not a readable Parquet file ({reason}); write or fetch it again"
        ) from error


def _rows(batches: Iterable[pa.RecordBatch]) -> Iterator[Mapping[str, Any]]:
    import pyarrow as pa

    for batch in batches:
        columns = []
        for column in batch.columns:
            if pa.types.is_timestamp(column.type):
                # Record readers take whole seconds; finer units lose what lies below a second.
                column = column.cast(pa.timestamp("s", tz=column.type.tz), safe=False)
                column = column.cast(pa.int64())
            columns.append(column.to_pylist())
        names = batch.schema.names
        for values in zip(*columns, strict=True):
            yield dict(zip(names, values, strict=True))
