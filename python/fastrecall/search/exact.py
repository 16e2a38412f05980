"""Exact cosine search over vectors that fit in memory."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from fastrecall import _core
from fastrecall._ragged import IdLists, flatten_lists
from fastrecall._threads import resolve_threads
from fastrecall.types import Ids, Scores

Storage: TypeAlias = Literal["int8", "float16", "float32"]


class ExactIndex:
    """The k nearest vectors by cosine, exactly.

    Scores are the float32 of a float64 dot product of unit vectors; rankings are by score, then by
    id. Both are the same bits on every instruction set, thread count and batch size. A zero vector
    scores 0 against everything.

    Args:
        vectors: ``[n, d]`` floating-point numbers of any length (norm); they are scaled to length
            one and copied. float64 is rounded to float32. Integers are refused.
        storage: what is kept. ``"float32"``: the unit vectors. ``"int8"``: besides them one byte a
            value, which lets a search read a quarter of the memory; the results are the same.
            ``"float16"``: the unit vectors rounded to half precision, half the memory; results are
            exact for the rounded vectors.
        threads: threads to use; all usable cores when ``None``.

    Raises:
        InputError: wrong shape or type, or NaN or infinity (the row is named).

    >>> import numpy as np
    >>> index = ExactIndex(np.eye(3, dtype=np.float32))
    >>> ids, scores = index.search(np.array([0.0, 3.0, 4.0]), 2)
    >>> ids
    array([[2, 1]], dtype=int32)
    >>> scores
    array([[0.8, 0.6]], dtype=float32)
    """

    def __init__(
        self,
        vectors: npt.ArrayLike,
        *,
        storage: Storage = "int8",
        threads: int | None = None,
    ) -> None:
        self.threads = resolve_threads(threads)
        self._index = _core.ExactIndex(vectors, storage=storage, threads=self.threads)

    def __len__(self) -> int:
        return self._index.size

    def __repr__(self) -> str:
        return f"ExactIndex({len(self)} vectors, dim={self.dim}, storage={self.storage!r})"

    @property
    def dim(self) -> int:
        """Dimensions of a vector."""
        return self._index.dim

    @property
    def storage(self) -> str:
        """What is kept: ``"int8"``, ``"float16"`` or ``"float32"``."""
        return self._index.storage

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the vectors (and codes) take."""
        return self._index.nbytes

    def search(
        self,
        queries: npt.ArrayLike,
        k: int,
        *,
        exclude: IdLists | None = None,
        mask: npt.NDArray[np.bool_] | None = None,
    ) -> tuple[Ids, Scores]:
        """The *k* best vectors for each query, best first.

        Args:
            queries: ``[q, d]``, or one query ``[d]`` (a result of one row).
            k: how many, at least 1; -1 and nan fill what the index cannot give.
            exclude: ids that a query must not return: one id a query ``[q]`` (-1 for none), a
                matrix ``[q, m]`` padded with -1, or a sequence of sequences.
            mask: True where an id may be returned: ``[n]`` for all queries or ``[q, n]``.

        Returns:
            ids int32 ``[q, k]`` and scores float32 ``[q, k]``.

        Raises:
            InputError: shapes or types that do not fit, ids out of range, NaN or infinity.

        >>> import numpy as np
        >>> index = ExactIndex(np.eye(3, dtype=np.float32))
        >>> index.search(np.eye(3, dtype=np.float32)[:2], 1, exclude=[0, -1])[0]
        array([[1],
               [1]], dtype=int32)
        """
        queries = np.asarray(queries)
        offsets = ids = None
        if exclude is not None:
            count = 1 if queries.ndim == 1 else len(queries)
            offsets, ids = flatten_lists(exclude, queries=count, name="exclude")
        return self._index.search(
            queries,
            k,
            exclude_offsets=offsets,
            exclude_ids=ids,
            mask=mask,
            threads=self.threads,
        )

    def knn_graph(self, k: int) -> tuple[Ids, Scores]:
        """The *k* nearest other vectors of every vector, best first.

        Returns:
            ids int32 ``[n, k]`` and scores float32 ``[n, k]``; -1 and nan past the end.

        >>> import numpy as np
        >>> ids, scores = ExactIndex(np.array([[1.0, 0], [1, 1], [0, 1]])).knn_graph(1)
        >>> ids.ravel()
        array([1, 0, 1], dtype=int32)
        """
        return self._index.knn_graph(k, threads=self.threads)
