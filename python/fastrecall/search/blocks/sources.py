"""An array as a source of vectors; files are `fastrecall.dataset.VectorDataset`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fastrecall.errors import InputError
from fastrecall.types import Vectors


class ArraySource:
    """Vectors that are in memory already; the whole array is sent where a task is sent.

    Raises:
        InputError: no matrix of floating-point numbers.

    >>> source = ArraySource(np.eye(3))
    >>> len(source), source.dim, source.read(1, 2).tolist()
    (3, 3, [[0.0, 1.0, 0.0]])
    """

    def __init__(self, vectors: npt.ArrayLike) -> None:
        self._vectors = np.asarray(vectors)
        if self._vectors.ndim != 2 or self._vectors.dtype.kind != "f":
            raise InputError(
                f"vectors is {self._vectors.dtype} {self._vectors.shape}; "
                "expected floating-point numbers [n, d]"
            )

    def __len__(self) -> int:
        return len(self._vectors)

    @property
    def dim(self) -> int:
        """Dimensions of a vector."""
        return int(self._vectors.shape[1])

    def read(self, start: int, stop: int) -> Vectors:
        """The rows from *start* to before *stop*, float32."""
        return np.ascontiguousarray(self._vectors[start:stop], np.float32)
