"""Vectors in many files, as one long array that need not fit in memory."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fastrecall._files import expanded
from fastrecall._term import progress
from fastrecall.dataset.finding import files_of, survey_files
from fastrecall.dataset.foreign import ForeignFile
from fastrecall.dataset.manifest import Manifest, read_manifest
from fastrecall.dataset.own import OwnFile, damaged, is_own
from fastrecall.errors import CacheError, InputError
from fastrecall.types import Vectors

_OPEN_FILES = 2
"""Two, so that comparing blocks of one file with blocks of another opens none of them again."""
_VERIFY_ROWS = 8192


class VectorDataset:
    """Vectors in files: row ``i`` is vector ``i``, in the order of the files and of their rows.

    A folder written by `VectorWriter` is taken as its manifest says: opening it looks at names and
    sizes only, a checksum is computed when a chunk of 1024 rows is first read, and `verify` checks
    everything. Other files can be Arrow IPC (Feather), Parquet or ``.npy``; their vectors are
    checked for NaN and infinity whenever they are read.

    A dataset is small to pickle: another process opens the files itself. Reads are safe from many
    threads. At most two files are open at once, and mapped pages are given back as reading goes on,
    so that a pass over everything takes little more memory than its blocks.

    Args:
        source: a folder, a file, a glob pattern, or a list of files. Files of a folder or pattern
            are ordered by name, numbers in names by their value (``part-2`` before ``part-10``).
        column: of Arrow and Parquet files that others wrote: a list of float32, float16, float64 or
            int8.

    Raises:
        InputError: no such files, files that hold no vectors, or of different dimensions.
        CacheError: a dataset of ours that is not finished, damaged, or of a newer version.

    >>> import tempfile, numpy as np
    >>> file = Path(tempfile.mkdtemp()) / "vectors.npy"
    >>> np.save(file, np.eye(3, dtype=np.float32))
    >>> dataset = VectorDataset(file)
    >>> len(dataset), dataset.dim
    (3, 3)
    >>> dataset.read(1, 2)
    array([[0., 1., 0.]], dtype=float32)
    """

    def __init__(
        self,
        source: str | PathLike[str] | Sequence[str | PathLike[str]],
        *,
        column: str = "vector",
    ) -> None:
        self._column = column
        self._folder = Path()
        self._about: dict[str, Any] = {}
        manifest = None
        if isinstance(source, (str, PathLike)):
            folder = expanded(source)
            # Path.is_dir raises when a name is too long.
            manifest = read_manifest(folder) if os.path.isdir(folder) else None  # noqa: PTH112
        if manifest is not None:
            self._folder = folder.absolute()
            self._files, self._dim = manifest.files, manifest.dim
            self._about = manifest.about
            _check_sizes(self._folder, manifest)
        else:
            paths = files_of(source)
            if isinstance(source, (str, PathLike)) and folder.is_dir() and any(map(is_own, paths)):
                raise CacheError(
                    f"{folder} holds the beginning of a vector dataset and no manifest; finish it "
                    "with a writer that goes on, or name its files one by one"
                )
            self._files, self._dim = survey_files(paths, column)
        self._starts = np.cumsum([0, *(file.rows for file in self._files)])
        self._start_reading()

    @property
    def dim(self) -> int:
        """Dimensions of a vector."""
        return self._dim

    @property
    def nbytes(self) -> int:
        """Bytes of the files."""
        return sum(file.bytes for file in self._files)

    @property
    def about(self) -> dict[str, Any]:
        """What the writer said of the vectors; empty for files that others wrote."""
        return dict(self._about)

    @property
    def paths(self) -> list[Path]:
        """The files, in the order of their rows."""
        return [self._folder / file.name for file in self._files]

    def __len__(self) -> int:
        return int(self._starts[-1])

    def __repr__(self) -> str:
        return f"VectorDataset({len(self)} vectors, dim={self.dim}, {len(self._files)} files)"

    def read(self, start: int, stop: int) -> Vectors:
        """The rows from *start* to before *stop*: float32 ``[stop - start, dim]``.

        Read-only and not copied where they are float32 in one mapped file.

        Raises:
            InputError: rows out of range; NaN or infinity in a file (the row in it is named).
            CacheError: a damaged file.
        """
        if not 0 <= start <= stop <= len(self):
            raise InputError(f"rows {start} to {stop} of a dataset of {len(self)}; out of range")
        if start == stop:
            return np.empty((0, self._dim), dtype=np.float32)
        first = self._file_of(start)
        if stop <= self._starts[first + 1]:
            return self._read_in(first, start, stop)
        out = np.empty((stop - start, self._dim), dtype=np.float32)
        for file in range(first, self._file_of(stop - 1) + 1):
            low, high = max(start, self._starts[file]), min(stop, self._starts[file + 1])
            out[low - start : high - start] = self._read_in(file, int(low), int(high))
        return out

    def take(self, ids: npt.ArrayLike) -> Vectors:
        """The rows with these *ids*, in their order: float32 ``[len(ids), dim]``, a copy.

        Raises:
            InputError, CacheError: see `read`.
        """
        given = np.asarray(ids)
        if given.size and given.dtype.kind not in "iu":  # a mask, or something that rounds
            raise InputError(f"ids are {given.dtype}; expected the numbers of rows")
        rows = given.astype(np.int64).ravel()
        if rows.size and not (rows.min() >= 0 and rows.max() < len(self)):
            raise InputError(
                f"ids from {rows.min()} to {rows.max()} of a dataset of {len(self)}; out of range"
            )
        out = np.empty((len(rows), self._dim), dtype=np.float32)
        files = np.searchsorted(self._starts, rows, side="right") - 1
        for file in np.unique(files).tolist():
            wanted = np.flatnonzero(files == file)
            with self._lock:
                out[wanted] = self._reader(file).take(rows[wanted] - self._starts[file])
        return out

    def blocks(self, rows: int) -> Iterator[tuple[int, Vectors]]:
        """All vectors as (first row, block of at most *rows* rows), cut where files end.

        >>> import tempfile, numpy as np
        >>> file = Path(tempfile.mkdtemp()) / "vectors.npy"
        >>> np.save(file, np.eye(3, dtype=np.float32))
        >>> [(start, len(block)) for start, block in VectorDataset(file).blocks(2)]
        [(0, 2), (2, 1)]
        """
        if rows < 1:
            raise InputError(f"rows is {rows}; expected 1 or more")
        for low, high in zip(self._starts[:-1].tolist(), self._starts[1:].tolist(), strict=True):
            for start in range(low, high, rows):
                yield start, self.read(start, min(start + rows, high))

    def verify(self) -> None:
        """Read everything and check it: checksums, or that every number is finite.

        Raises:
            InputError, CacheError: see `read`; the first damage that is found.
        """
        fresh = VectorDataset.__new__(VectorDataset)
        fresh.__setstate__(self.__getstate__())  # chunks that were checked before are so again
        with progress("verifying", len(self)) as advance:
            for _, block in fresh.blocks(_VERIFY_ROWS):
                advance(len(block))

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key not in _OF_THIS_PROCESS}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._start_reading()

    def _start_reading(self) -> None:
        self._readers: OrderedDict[int, OwnFile | ForeignFile] = OrderedDict()
        self._lock = threading.Lock()

    def _file_of(self, row: int) -> int:
        return int(np.searchsorted(self._starts, row, side="right")) - 1

    def _read_in(self, file: int, start: int, stop: int) -> Vectors:
        first = int(self._starts[file])
        with self._lock:
            return self._reader(file).read(start - first, stop - first)

    def _reader(self, number: int) -> OwnFile | ForeignFile:
        if number not in self._readers:
            if len(self._readers) == _OPEN_FILES:
                self._readers.popitem(last=False)
            file = self._files[number]
            path = self._folder / file.name
            if file.crc32 is None:
                self._readers[number] = ForeignFile(
                    path, self._column, rows=file.rows, dim=self._dim
                )
            else:
                own = OwnFile(path, file)
                if own.proof.dim != self._dim:
                    raise damaged(path, f"its vectors have {own.proof.dim} dimensions")
                self._readers[number] = own
        self._readers.move_to_end(number)
        return self._readers[number]


_OF_THIS_PROCESS = ("_readers", "_lock")


def _check_sizes(folder: Path, manifest: Manifest) -> None:
    for file in manifest.files:
        path = folder / file.name
        try:
            size = path.stat().st_size
        except OSError as error:
            raise damaged(path, f"it is missing ({error.strerror})") from error
        if size != file.bytes:
            raise damaged(path, f"it has {size} bytes, expected {file.bytes}")
