"""Arrays and `.npy` files as sources of vectors."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fastrecall.errors import InputError
from fastrecall.types import Vectors


class ArraySource:
    """Vectors that are in memory already; the whole array is sent where a task is sent.

    >>> source = ArraySource(np.eye(3))
    >>> len(source), source.dim, source.read(1, 2).tolist()
    (3, 3, [[0.0, 1.0, 0.0]])
    """

    def __init__(self, vectors: npt.ArrayLike) -> None:
        self._vectors = np.asarray(vectors)
        _check(self._vectors, "vectors")

    def __len__(self) -> int:
        return len(self._vectors)

    @property
    def dim(self) -> int:
        """Dimensions of a vector."""
        return int(self._vectors.shape[1])

    def read(self, start: int, stop: int) -> Vectors:
        """The rows from *start* to before *stop*, float32."""
        return np.ascontiguousarray(self._vectors[start:stop], np.float32)


class NpySource:
    """The rows of a `.npy` file, read a block at a time. Pickled, it is a path.

    Rows are read and not mapped: pages of a map stay with the process, and a file that is cut off
    while it is mapped ends it.

    Args:
        path: a file that ``numpy.save`` wrote: a matrix ``[n, dim]`` of floating-point numbers.

    Raises:
        InputError: no such file, or something else in it.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "vectors.npy"
    >>> np.save(file, np.eye(3, dtype=np.float16))
    >>> NpySource(file).read(1, 2)
    array([[0., 1., 0.]], dtype=float32)
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        try:
            whole = np.load(self._path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise InputError(f"cannot read {self._path} as a .npy file: {error}") from error
        if not isinstance(whole, np.memmap):
            raise InputError(f"{self._path} is no .npy file; expected one array")
        _check(whole, str(self._path))
        if not whole.flags.c_contiguous:
            raise InputError(f"{self._path} is stored column by column; expected row by row")
        self._shape, self._dtype, self._offset = whole.shape, whole.dtype, whole.offset

    def __len__(self) -> int:
        return int(self._shape[0])

    @property
    def dim(self) -> int:
        """Dimensions of a vector."""
        return int(self._shape[1])

    def read(self, start: int, stop: int) -> Vectors:
        """The rows from *start* to before *stop*, float32.

        Raises:
            InputError: the file has gone or become shorter.
        """
        stop = min(stop, len(self))
        values = max(0, stop - start) * self.dim
        offset = self._offset + start * self.dim * self._dtype.itemsize
        try:
            rows = np.fromfile(self._path, self._dtype, values, offset=offset)
        except OSError as error:
            raise InputError(f"cannot read {self._path} any more: {error}") from error
        if rows.size != values:
            raise InputError(
                f"{self._path} has become shorter: it ends before row {stop} of {len(self)}"
            )
        return rows.reshape(-1, self.dim).astype(np.float32, copy=False)


def _check(vectors: npt.NDArray[np.generic], name: str) -> None:
    if vectors.ndim != 2 or vectors.shape[1] == 0 or vectors.dtype.kind != "f":
        raise InputError(
            f"{name} is {vectors.dtype} {vectors.shape}; "
            "expected floating-point numbers [n, d] with d of at least 1"
        )
