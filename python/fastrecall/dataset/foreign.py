"""Files of vectors that others wrote, read in blocks and looked at before they are used."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
import numpy.typing as npt

from fastrecall.dataset.storage import decode, first_not_finite
from fastrecall.dataset.tables import BATCH_ROWS, ArrowTable, NpyTable, ParquetTable, Table
from fastrecall.errors import InputError
from fastrecall.types import Vectors

_KINDS: dict[str, Callable[[Path, str], Table]] = {
    ".arrow": ArrowTable,
    ".feather": ArrowTable,
    ".ipc": ArrowTable,
    ".parquet": ParquetTable,
    ".npy": NpyTable,
}
SUFFIXES = tuple(_KINDS)


def open_table(path: Path, column: str) -> Table:
    """Open a file by its suffix.

    Raises:
        InputError: it is missing, damaged, or holds no vectors; the file and column are named.
    """
    import pyarrow as pa

    kind = _KINDS.get(path.suffix.lower())
    if kind is None:
        raise InputError(f"{path} is no file of vectors; expected {', '.join(SUFFIXES)}")
    with _readable(path, pa.ArrowException):
        return kind(path, column)


def survey(path: Path, column: str) -> tuple[int, int | None]:
    """Rows and dimension of a file; the dimension is ``None`` where no row tells it.

    Raises:
        InputError: see `open_table`.
    """
    import pyarrow as pa

    table = open_table(path, column)
    if table.dim is None and table.rows:
        with _readable(path, pa.ArrowException):
            return table.rows, next(table.pieces(0, 1)).shape[1]
    return table.rows, table.dim


class ForeignFile:
    """Reads a file of somebody else's; every row is looked at for NaN and infinity.

    Raises:
        InputError: see `open_table`; or rows or dimensions are others than these.
    """

    def __init__(self, path: Path, column: str, *, rows: int, dim: int) -> None:
        self._path, self._column, self._rows, self._dim = path, column, rows, dim
        self._table = open_table(path, column)
        if self._table.rows != rows or self._table.dim not in (None, dim):
            raise InputError(f"{path} has changed since it was opened; open the dataset again")

    def read(self, start: int, stop: int) -> Vectors:
        """The rows of this file from *start* to before *stop*; mapped float32 is not copied.

        Raises:
            InputError: NaN or infinity, a missing vector or one of another dimension (the row is
                named), or a damaged file.
        """
        import pyarrow as pa

        whole: Vectors | None = None
        at = start
        with _readable(self._path, pa.ArrowException):
            for piece in self._table.pieces(start, stop):
                vectors = self._checked(piece, at)
                if len(vectors) == stop - start:
                    return vectors
                if whole is None:
                    whole = np.empty((stop - start, self._dim), dtype=np.float32)
                whole[at - start : at - start + len(vectors)] = vectors
                at += len(vectors)
        if at != stop:
            raise InputError(f"{self._path} ends at row {at}, its head says {self._rows}")
        return whole if whole is not None else np.empty((0, self._dim), dtype=np.float32)

    def take(self, rows: npt.NDArray[np.int64]) -> Vectors:
        """Some rows of this file, a copy; rows that lie together are read together."""
        out = np.empty((len(rows), self._dim), dtype=np.float32)
        blocks = rows // BATCH_ROWS
        for block in np.unique(blocks).tolist():
            start = block * BATCH_ROWS
            vectors = self.read(start, min(start + BATCH_ROWS, self._rows))
            wanted = np.flatnonzero(blocks == block)
            out[wanted] = vectors[rows[wanted] - start]
        return out

    def _checked(self, piece: npt.NDArray[Any], at: int) -> Vectors:
        if piece.shape[1] != self._dim:
            raise InputError(
                f"{self._path}, column {self._column!r}, row {at}: a vector of {piece.shape[1]} "
                f"numbers; the vectors before it have {self._dim}"
            )
        with np.errstate(over="ignore"):  # a float64 beyond float32 is found as an infinity
            vectors = decode(piece)
        bad = first_not_finite(vectors)
        if bad is not None:
            raise InputError(
                f"{self._path}, row {at + bad}: the vector holds NaN or infinity; expected numbers "
                "that float32 can hold"
            )
        return vectors


@contextlib.contextmanager
def _readable(path: Path, arrow_error: type[Exception]) -> Iterator[None]:
    """Turn what libraries raise over a damaged or missing file into one sentence."""
    try:
        yield
    except InputError:
        raise
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist; expected a file of vectors") from error
    except (
        *(arrow_error, OSError, ValueError, TypeError, LookupError, ArithmeticError, EOFError),
        *(SyntaxError, TokenError),  # NumPy reads a header by Python's own parser
    ) as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise InputError(
            f"{path} cannot be read as {path.suffix} ({reason}); write it again"
        ) from error
