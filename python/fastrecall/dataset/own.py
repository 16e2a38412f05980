"""One file of a dataset that we wrote: an Arrow IPC file that proves its own content.

The file holds one record batch, not compressed, so that a map of it is an array. Column ``vector``
is a FixedSizeList of float32, float16 or int8; ``scale`` (float32) stands beside int8. The schema's
metadata carry a JSON document (`Proof`) with a CRC-32 for every `CHUNK_ROWS` rows.
"""

from __future__ import annotations

import json
import re
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fastrecall import _json
from fastrecall._files import atomic_write
from fastrecall.dataset.mapped import MappedFile
from fastrecall.dataset.storage import Scales, Storage, bytes_per_row, decode
from fastrecall.errors import CacheError
from fastrecall.types import Vectors

if TYPE_CHECKING:
    import pyarrow as pa

CHUNK_ROWS = 1024
"""Rows under one checksum: reading one row checks so many."""

VERSION = 1
FILES = "vectors-*.arrow"
VECTOR, SCALE = "vector", "scale"
_KEY = b"fastrecall.vectors"


@dataclass(frozen=True)
class Proof:
    """What a file says of itself.

    ``start`` is the row of the dataset that its first row is. ``made_by`` and ``made_from`` name
    what the vectors were computed by (the same for a whole dataset) and from (for this file).
    """

    version: int
    dim: int
    storage: Storage
    start: int
    rows: int
    made_by: str
    made_from: str
    crc32: tuple[int, ...]

    def encoded(self) -> bytes:
        """As it stands in the file."""
        return json.dumps(asdict(self), separators=(",", ":")).encode()


@dataclass(frozen=True)
class FileEntry:
    """A file in the manifest. ``crc32`` is the checksum of its `Proof`, ``None`` of other files."""

    name: str
    rows: int
    bytes: int
    crc32: int | None = None


def file_name(number: int) -> str:
    """The name of a dataset's file, counted from 0.

    >>> file_name(7)
    'vectors-000007.arrow'
    """
    return f"vectors-{number:06d}.arrow"


def write_file(
    path: Path,
    values: npt.NDArray[Any],
    scales: Scales | None,
    *,
    start: int,
    made_by: str = "",
    made_from: str = "",
) -> FileEntry:
    """Write encoded vectors as one file, whole or not at all.

    Raises:
        CacheError: the folder cannot be written.
    """
    import pyarrow as pa

    rows, dim = values.shape
    values = np.ascontiguousarray(values)
    arrays = [pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), dim)]
    names = [VECTOR]
    if scales is not None:
        arrays.append(pa.array(scales))
        names.append(SCALE)
    storage: Storage = values.dtype.name  # type: ignore[assignment]
    checksums = tuple(_checksum(values, scales, chunk) for chunk in range(_chunks(rows)))
    proof = Proof(VERSION, dim, storage, start, rows, made_by, made_from, checksums).encoded()
    batch = pa.record_batch(arrays, names=names).replace_schema_metadata({_KEY: proof})
    with atomic_write(path, binary=True) as file, pa.ipc.new_file(file, batch.schema) as out:
        out.write_batch(batch)
    return FileEntry(path.name, rows, path.stat().st_size, zlib.crc32(proof))


def is_own(path: Path) -> bool:
    """Whether a file is one that we wrote, of whatever version and under whatever name."""
    return _KEY in (_metadata(path) or {})


def is_foreign(path: Path) -> bool:
    """Whether a file is certainly none of ours: by its name, or whole and without a proof.

    What has our name and cannot be read is taken for one of ours that was damaged.
    """
    if re.fullmatch(r"vectors-\d{6,}\.arrow", path.name, re.ASCII) is None:
        return True
    metadata = _metadata(path)
    return metadata is not None and _KEY not in metadata


def _metadata(path: Path) -> dict[bytes, bytes] | None:
    """What the schema of an Arrow file tells beside the columns; None: it cannot be read."""
    import pyarrow as pa

    try:
        with pa.memory_map(str(path)) as file, pa.ipc.open_file(file) as reader:
            return reader.schema.metadata or {}
    except (pa.ArrowException, OSError):
        return None


class OwnFile:
    """Reads a file of ours: mapped, every chunk checked when it is first looked at.

    Args:
        path: the file.
        entry: what the manifest says of it, if there is one.

    Raises:
        CacheError: it is missing, cut off, damaged, or of a newer version.
    """

    def __init__(self, path: Path, entry: FileEntry | None = None) -> None:
        import pyarrow as pa

        self._path = path
        try:
            self._file = MappedFile(path)
            size = len(self._file.buffer)
            if entry and size != entry.bytes:
                raise damaged(path, f"it has {size} bytes, expected {entry.bytes}")
            with pa.ipc.open_file(pa.py_buffer(self._file.buffer)) as reader:
                proof = _proof_in(reader.schema, path)
                batch = reader.get_batch(0)
                batch.validate(full=True)  # Arrow trusts a damaged frame, to the point of crashing
            told = zlib.crc32(proof.encoded()), proof.rows
            if entry and told != (entry.crc32, entry.rows):
                raise damaged(path, "it is not the file that the manifest speaks of")
            self.proof = proof
            self._values, self._scales = _arrays(batch, proof)
        except FileNotFoundError as error:
            raise damaged(path, "it is missing") from error
        except (
            pa.ArrowException,
            OSError,
            ValueError,
            TypeError,
            LookupError,
            ArithmeticError,
        ) as error:
            reason = str(error).partition("\n")[0]
            raise damaged(path, f"it cannot be read ({reason})") from error
        self.entry = FileEntry(path.name, proof.rows, size, zlib.crc32(proof.encoded()))
        self._checked = np.zeros(_chunks(proof.rows), dtype=np.bool_)

    def read(self, start: int, stop: int) -> Vectors:
        """The rows of this file from *start* to before *stop*; float32 is not copied.

        Raises:
            CacheError: a chunk that does not fit its checksum.
        """
        self._check(range(start // CHUNK_ROWS, _chunks(stop)))
        self._file.touched((stop - start) * bytes_per_row(self.proof.storage, self.proof.dim))
        scales = None if self._scales is None else self._scales[start:stop]
        return decode(self._values[start:stop], scales)

    def take(self, rows: npt.NDArray[np.int64]) -> Vectors:
        """Some rows of this file, a copy.

        Raises:
            CacheError: a chunk that does not fit its checksum.
        """
        self._check(np.unique(rows // CHUNK_ROWS).tolist())
        self._file.touched(len(rows) * bytes_per_row(self.proof.storage, self.proof.dim))
        return decode(self._values[rows], None if self._scales is None else self._scales[rows])

    def _check(self, chunks: range | list[int]) -> None:
        for chunk in chunks:
            if self._checked[chunk]:
                continue
            self._file.touched(CHUNK_ROWS * bytes_per_row(self.proof.storage, self.proof.dim))
            if _checksum(self._values, self._scales, chunk) != self.proof.crc32[chunk]:
                row = chunk * CHUNK_ROWS
                raise damaged(
                    self._path,
                    f"rows {row} to {min(row + CHUNK_ROWS, self.proof.rows) - 1} "
                    "do not fit their checksum",
                )
            self._checked[chunk] = True


class DamagedFileError(CacheError):
    """A dataset's file that is not what was written."""


def damaged(path: Path, reason: str) -> DamagedFileError:
    """The error for that file."""
    return DamagedFileError(
        f"{path} of the vector dataset is damaged: {reason}; restore the file, or remove it and "
        "write the dataset again"
    )


def whole_file(path: Path) -> OwnFile | None:
    """A file that an earlier run wrote, or ``None`` where there is none that can be read.

    Raises:
        CacheError: it is of a newer version.
    """
    try:
        return OwnFile(path)
    except DamagedFileError:
        return None


def _proof_in(schema: pa.Schema, path: Path) -> Proof:
    document = _json.loads((schema.metadata or {})[_KEY])
    version = int(document["version"])
    if version > VERSION:
        raise CacheError(
            f"{path} is of version {version}, this fastrecall reads up to {VERSION}; "
            "update fastrecall"
        )
    return _json.as_instance(Proof, document)


def _arrays(batch: pa.RecordBatch, proof: Proof) -> tuple[npt.NDArray[Any], Scales | None]:
    """The arrays in a record batch, after making sure that they are what the proof says."""
    column = batch.column(VECTOR)
    values = column.flatten().to_numpy(zero_copy_only=True)
    scales = batch.column(SCALE).to_numpy(zero_copy_only=True) if proof.storage == "int8" else None
    if (
        (batch.num_rows, column.type.list_size, values.size)
        != (proof.rows, proof.dim, proof.rows * proof.dim)
        or values.dtype != np.dtype(proof.storage)
        or (scales is not None and (scales.dtype, len(scales)) != (np.float32, proof.rows))
        or len(proof.crc32) != _chunks(proof.rows)
    ):
        raise ValueError("its columns are not what its checksums are for")
    return values.reshape(proof.rows, proof.dim), scales


def _chunks(rows: int) -> int:
    return -(-rows // CHUNK_ROWS)


def _checksum(values: npt.NDArray[Any], scales: Scales | None, chunk: int) -> int:
    rows = slice(chunk * CHUNK_ROWS, (chunk + 1) * CHUNK_ROWS)
    crc = zlib.crc32(values[rows].data)
    return crc if scales is None else zlib.crc32(scales[rows].data, crc)
