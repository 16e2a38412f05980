"""The three formats of files that others wrote: each gives its rows in pieces of bounded size."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from fastrecall.dataset.columns import NUMBERS, NUMBERS_IN_WORDS, list_size, matrix
from fastrecall.dataset.mapped import MappedFile
from fastrecall.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 4096
_BUFFER_BYTES = 1 << 20


class Table(Protocol):
    """The rows of one file. ``dim`` is ``None`` where only the rows themselves tell it."""

    rows: int
    dim: int | None

    def pieces(self, start: int, stop: int) -> Iterator[npt.NDArray[Any]]:
        """The rows from *start* to before *stop* as arrays ``[n, dim]``, one after the other."""


class NpyTable:
    """An array ``[n, dim]`` as ``numpy.save`` writes it, mapped."""

    def __init__(self, path: Path, _column: str) -> None:
        with path.open("rb") as file:
            version = np.lib.format.read_magic(file)
            read = {
                (1, 0): np.lib.format.read_array_header_1_0,
                (2, 0): np.lib.format.read_array_header_2_0,
            }[version]
            shape, by_columns, dtype = read(file)
            offset = file.tell()
        if len(shape) != 2 or dtype.name not in NUMBERS:
            raise InputError(
                f"{path} holds {dtype} of shape {list(shape)}; expected an array [n, dim] of "
                f"{NUMBERS_IN_WORDS}"
            )
        self.rows: int = shape[0]
        self.dim: int | None = shape[1]
        self._file = MappedFile(path)
        order: Any = "F" if by_columns else "C"
        self._array: npt.NDArray[Any] = np.ndarray(
            shape, dtype, self._file.buffer, offset, order=order
        )
        self._row_bytes = shape[1] * dtype.itemsize

    def pieces(self, start: int, stop: int) -> Iterator[npt.NDArray[Any]]:
        """See `Table.pieces`."""
        self._file.touched((stop - start) * self._row_bytes)
        yield self._array[start:stop]


class ArrowTable:
    """An Arrow IPC file of any number of batches, mapped; compressed ones are unpacked in turn."""

    def __init__(self, path: Path, column: str) -> None:
        import pyarrow as pa
        from pyarrow import dataset

        self._path, self._column = path, column
        self._file = MappedFile(path)
        reader = pa.ipc.open_file(pa.py_buffer(self._file.buffer))
        self.dim = list_size(reader.schema, path, column)
        self.rows = dataset.dataset(path, format="ipc").count_rows()
        only = [reader.schema.get_field_index(column)]
        self._reader = pa.ipc.open_file(
            pa.py_buffer(self._file.buffer), options=pa.ipc.IpcReadOptions(included_fields=only)
        )
        # Where batches begin is known as far as they were opened.
        self._starts = [0]
        self._held: tuple[int, npt.NDArray[Any]] | None = None

    def pieces(self, start: int, stop: int) -> Iterator[npt.NDArray[Any]]:
        """See `Table.pieces`."""
        while start < stop:
            number = max(0, int(np.searchsorted(self._starts, start, side="right")) - 1)
            first = self._starts[number]
            batch = self._batch(number)
            piece = batch[start - first : stop - first]
            if len(piece):
                self._file.touched(piece.nbytes)
                yield piece
            start += len(piece)

    def _batch(self, number: int) -> npt.NDArray[Any]:
        if self._held is None or self._held[0] != number:
            self._held = None  # two unpacked batches need not be in memory at once
            column = self._reader.get_batch(number).column(0)
            batch = matrix(column, self._path, self._column, self._starts[number])
            self._held = number, batch
            if number + 1 == len(self._starts):
                self._starts.append(self._starts[number] + len(batch))
        return self._held[1]


class ParquetTable:
    """A Parquet file, unpacked a few thousand rows at a time, forward; back means from the start of
    the row group."""

    def __init__(self, path: Path, column: str) -> None:
        import pyarrow.parquet as pq

        self._path, self._column = path, column
        # With a buffer, columns are read page by page instead of a whole row group at once.
        self._file = pq.ParquetFile(path, buffer_size=_BUFFER_BYTES, pre_buffer=False)
        self.dim = list_size(self._file.schema_arrow, path, column)
        groups = [
            self._file.metadata.row_group(n).num_rows for n in range(self._file.num_row_groups)
        ]
        self._starts = np.cumsum([0, *groups])
        self.rows = int(self._starts[-1])
        self._batches: Iterator[pa.RecordBatch] = iter(())
        self._at = self.rows
        self._rest: npt.NDArray[Any] | None = None

    def pieces(self, start: int, stop: int) -> Iterator[npt.NDArray[Any]]:
        """See `Table.pieces`."""
        while start < stop:
            self._go_to(start)
            batch = self._next()
            skip = start - self._at
            piece = batch[skip : skip + stop - start]
            used = min(skip + len(piece), len(batch))
            self._at += used
            self._rest = batch[used:] if used < len(batch) else None
            start += len(piece)
            if len(piece):
                yield piece

    def _go_to(self, row: int) -> None:
        """Make the batches to come begin at *row*, or before it in its row group."""
        group = int(np.searchsorted(self._starts, row, side="right")) - 1
        if self._starts[group] <= self._at <= row:
            return
        self._batches = self._file.iter_batches(
            BATCH_ROWS,
            row_groups=range(group, self._file.num_row_groups),
            columns=[self._column],
            use_threads=False,
        )
        self._at, self._rest = int(self._starts[group]), None

    def _next(self) -> npt.NDArray[Any]:
        if self._rest is not None:
            return self._rest
        at, self._at = self._at, self.rows  # whatever fails here, the next read begins anew
        batch = next(self._batches, None)
        if batch is None:
            raise InputError(f"{self._path} ends at row {at}, its head says {self.rows}")
        vectors = matrix(batch.column(0), self._path, self._column, at)
        self._at = at
        return vectors
