"""Writes vectors into a dataset of many files; goes on where an earlier run was stopped."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from fastrecall._checked import digest_of
from fastrecall._lock import locked
from fastrecall.dataset.manifest import Manifest, finish_dataset, take_over
from fastrecall.dataset.own import FileEntry, file_name, whole_file, write_file
from fastrecall.dataset.storage import Storage, checked_storage, encode, first_not_finite
from fastrecall.errors import CacheError, InputError
from fastrecall.types import Vectors

ROWS_PER_FILE = 65_536


class VectorWriter:
    """Adds blocks of vectors to a folder; `finish`, or the end of the ``with``, makes it a dataset.

    Holds one file's vectors, as they are stored, in memory. Every file appears whole or not at all.
    When a run was stopped, however that was, opening a writer on the folder again keeps all whole
    files, and `rows` tells from which row to go on; the dataset is then the same, byte for byte, as
    if nothing had happened. An error inside the ``with`` leaves the whole files, too.

    Args:
        folder: where to; made when it is not there.
        dim: dimensions of a vector.
        storage: ``"float32"``, ``"float16"`` or ``"int8"``; see `Storage`.
        rows_per_file: vectors in a file; the last one may have fewer.
        about: what the vectors are of, for the manifest; any JSON.

    Raises:
        InputError: an option out of range, or something about the vectors that JSON cannot say.
        CacheError: the folder holds a finished dataset, the beginning of another one, or files of
            the same names that are none of ours; it is being written by another process, or cannot
            be written.

    >>> import tempfile, numpy as np
    >>> with VectorWriter(tempfile.mkdtemp(), dim=3, storage="int8") as writer:
    ...     writer.append(np.eye(3, dtype=np.float32))
    >>> writer.rows
    3
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        dim: int,
        storage: Storage = "float32",
        rows_per_file: int = ROWS_PER_FILE,
        about: Mapping[str, Any] | None = None,
    ) -> None:
        for name, value in (("dim", dim), ("rows_per_file", rows_per_file)):
            if value < 1:
                raise InputError(f"{name} is {value}; expected 1 or more")
        self.folder = Path(folder)
        self.dim = dim
        self.storage = checked_storage(storage)
        self._rows_per_file = rows_per_file
        self._about = _json_of(about or {})
        self._buffered = 0
        self._values: npt.NDArray[Any] = np.empty((rows_per_file, dim), dtype=storage)
        self._scales = np.empty(rows_per_file, dtype=np.float32) if storage == "int8" else None
        self._closed = False
        self._held = contextlib.ExitStack()
        busy = f"another process is writing vectors to {folder}; wait until it is done"
        self._held.enter_context(locked(self.folder / ".lock", busy=busy))
        try:
            self._files = self._kept()
        except BaseException:
            self._held.close()
            raise

    @property
    def rows(self) -> int:
        """Vectors that were added, now or by an earlier run: the next row."""
        return sum(file.rows for file in self._files) + self._buffered

    def append(self, vectors: Vectors) -> None:
        """Add a block: ``[n, dim]``, float32 or what rounds to it, in the order of the rows.

        Raises:
            InputError: another shape or type, NaN or infinity, or beyond what the storage holds.
            CacheError: the folder cannot be written, or the writer is finished.
        """
        if self._closed:
            raise CacheError(f"the writer of {self.folder} is closed; nothing can be added")
        block = self._checked(vectors)
        values, scales = encode(block, self.storage, first=self.rows)
        at = 0
        while at < len(values):
            count = min(len(values) - at, self._rows_per_file - self._buffered)
            into = slice(self._buffered, self._buffered + count)
            self._values[into] = values[at : at + count]
            if self._scales is not None and scales is not None:
                self._scales[into] = scales[at : at + count]
            self._buffered += count
            at += count
            if self._buffered == self._rows_per_file:
                self._flush()

    def finish(self) -> None:
        """Write what is left, and the manifest: from now on the folder is a dataset.

        Raises:
            CacheError: the folder cannot be written.
        """
        if self._closed:
            return
        if self._buffered:
            self._flush()
        finish_dataset(
            self.folder, Manifest(self.dim, self.storage, tuple(self._files), self._about)
        )
        self.close()

    def close(self) -> None:
        """Stop without finishing: whole files stay, what lies in no file yet is dropped."""
        self._closed = True
        self._held.close()

    def __enter__(self) -> VectorWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self.finish()
        finally:
            self.close()

    def _checked(self, vectors: npt.ArrayLike) -> Vectors:
        block = np.asarray(vectors)
        if block.ndim != 2 or block.shape[1] != self.dim or block.dtype.kind not in "fiu":
            raise InputError(
                f"vectors are {block.dtype} of shape {list(block.shape)}; expected float32 "
                f"[n, {self.dim}]"
            )
        with np.errstate(over="ignore"):  # a float64 beyond float32 is found as an infinity
            block = block.astype(np.float32, copy=False)
        bad = first_not_finite(block)
        if bad is not None:
            raise InputError(f"row {self.rows + bad} holds NaN or infinity; expected numbers")
        return block

    def _flush(self) -> None:
        number = len(self._files)
        rows = slice(0, self._buffered)
        self._files.append(
            write_file(
                self.folder / file_name(number),
                self._values[rows],
                None if self._scales is None else self._scales[rows],
                start=number * self._rows_per_file,
            )
        )
        self._buffered = 0

    def _kept(self) -> list[FileEntry]:
        """The whole files of an earlier run, up to the first that is missing or not full."""
        if take_over(self.folder) is not None:
            raise CacheError(
                f"{self.folder} holds a finished vector dataset; choose another folder, or remove "
                "this one first"
            )
        kept: list[FileEntry] = []
        while (entry := self._whole(len(kept))) is not None:
            kept.append(entry)
        return kept

    def _whole(self, number: int) -> FileEntry | None:
        path = self.folder / file_name(number)
        found = whole_file(path)
        if found is None:
            return None
        proof = found.proof
        start = number * self._rows_per_file
        full = proof.rows == self._rows_per_file
        last = not (self.folder / file_name(number + 1)).exists()
        expected = (self.dim, self.storage, start, "")
        if (proof.dim, proof.storage, proof.start, proof.made_by) != expected or not (
            full or (last and proof.rows < self._rows_per_file)
        ):
            raise CacheError(
                f"{path} is of another dataset: {proof.rows} {proof.storage} vectors of dim "
                f"{proof.dim} from row {proof.start}; expected {self._rows_per_file} "
                f"{self.storage} vectors of dim {self.dim} from row {start}: give the same options "
                "as before, or another folder"
            )
        # A file that is not full was the last one of a run that was stopped before its manifest.
        return found.entry if full else None


def _json_of(about: Mapping[str, Any]) -> dict[str, Any]:
    """What a manifest will say; looked at before hours of work, and not after them."""
    document = dict(about)
    try:
        digest_of(document)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"about cannot be written as JSON ({error}); expected {{...}}") from error
    return document
