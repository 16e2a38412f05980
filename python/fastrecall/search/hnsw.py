"""Approximate cosine search: a hierarchy of small-world graphs over int8 codes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from fastrecall import _core
from fastrecall._files import atomic_write
from fastrecall._threads import resolve_threads
from fastrecall.errors import InputError
from fastrecall.types import Ids, Scores


class Counters(NamedTuple):
    """What all searches of an index have cost so far.

    ``visited`` counts nodes whose links were followed, ``distances`` products of codes.
    """

    searches: int
    visited: int
    distances: int


class HNSW:
    """The k nearest vectors by cosine, nearly always all of them, in a fraction of the time.

    A graph of near neighbours in layers (Malkov and Yashunin, TPAMI 2020), built and walked on int8
    codes; what the walk finds is then scored from the stored vectors as `ExactIndex` scores, and
    ranked by score, then id. The same vectors, added by the same calls, give the same graph and the
    same answers on every thread count and instruction set.

    Any thread may search, add and delete at any time: searches run side by side, and each sees all
    of a change or nothing, because a change waits for the searches that run and later ones wait for
    it.

    Args:
        dim: dimensions of a vector, 1 to 65,536.
        m: links of a new node, 2 to 256; a node has at most ``2 * m`` in the lowest layer. More
            links find more and cost memory (``8 * m`` bytes a vector) and time. 16 suits text
            embeddings.
        ef_construction: how many candidates a new node chooses its links from, 1 to 65,536. Raise
            it while recall at a fixed ``ef`` still grows; the time to build grows with it.
        storage: what scores are computed from. ``"int8"``: the codes alone, ``dim`` bytes a vector,
            scores within about 0.002. ``"float16"``: 2 bytes a value more, scores of the rounded
            vectors. ``"float32"``: 4 bytes a value more, exact scores.
        seed: decides the layers of the nodes.
        threads: threads to use; all usable cores when ``None``.

    Raises:
        InputError: an option out of range.

    >>> index = HNSW(3)
    >>> index.add(np.eye(3, dtype=np.float32))
    >>> index.search(np.array([0.0, 3.0, 4.0]), 2)[0]
    array([[2, 1]], dtype=int32)
    """

    def __init__(
        self,
        dim: int,
        *,
        m: int = 16,
        ef_construction: int = 200,
        storage: Literal["int8", "float16", "float32"] = "int8",
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        self.threads = resolve_threads(threads)
        self._core = _core.HNSW(
            dim, m=m, ef_construction=ef_construction, storage=storage, seed=seed
        )

    def __len__(self) -> int:
        return self._core.size

    def __repr__(self) -> str:
        return f"HNSW({len(self)} vectors, dim={self.dim}, m={self.m}, storage={self.storage!r})"

    @property
    def dim(self) -> int:
        """Dimensions of a vector."""
        return self._core.dim

    @property
    def m(self) -> int:
        """Links of a new node."""
        return self._core.m

    @property
    def ef_construction(self) -> int:
        """How many candidates a new node chooses its links from."""
        return self._core.ef_construction

    @property
    def storage(self) -> str:
        """What scores are computed from."""
        return self._core.storage

    @property
    def seed(self) -> int:
        """What decided the layers of the nodes."""
        return self._core.seed

    @property
    def deleted(self) -> int:
        """How many deleted vectors still take part in walks; `compact` lets them go."""
        return self._core.deleted

    @property
    def nbytes(self) -> int:
        """Bytes of memory (or of a mapped file) that vectors, codes and links take."""
        return self._core.nbytes

    @property
    def ids(self) -> Ids:
        """The ids in the index, in the order of addition."""
        return self._core.ids

    @property
    def counters(self) -> Counters:
        """What all searches have cost so far; the cost of one is a difference."""
        return Counters(*self._core.counters)

    def add(self, vectors: npt.ArrayLike, ids: npt.ArrayLike | None = None) -> None:
        """Add one vector a row.

        Ctrl-C keeps what was finished, in rounds of 1,024 vectors; any other failure adds nothing.

        Args:
            vectors: ``[n, dim]`` floating-point numbers of any length (norm). A zero vector scores
                0 against everything.
            ids: whole numbers ``[n]`` from 0 on; the next after the highest so far when ``None``.

        Raises:
            InputError: NaN or infinity, another dimension, an id that is there already.

        >>> index = HNSW(2)
        >>> index.add(np.eye(2), ids=[7, 3])
        >>> index.search(np.array([0.0, 1.0]), 1)[0].item()
        3
        """
        self._core.add(vectors, ids=ids, threads=self.threads)

    def search(
        self,
        queries: npt.ArrayLike,
        k: int,
        *,
        ef: int | npt.ArrayLike = 64,
        mask: npt.NDArray[np.bool_] | None = None,
    ) -> tuple[Ids, Scores]:
        """The *k* best vectors that the walk finds for each query, best first.

        Args:
            queries: ``[q, dim]``, or one query ``[dim]`` (a result of one row).
            k: how many, at least 1; -1 and nan fill what the index cannot give.
            ef: how many candidates a walk keeps, one number or one a query ``[q]``; at least *k*
                are kept. More find more and take longer, about in proportion.
            mask: True where an id may be returned, one for each id up to the highest. When few
                may, they are all looked at instead of walking.

        Returns:
            ids int32 ``[q, k]`` and scores float32 ``[q, k]``.

        Raises:
            InputError: shapes or types that do not fit, NaN or infinity.

        >>> index = HNSW(3)
        >>> index.add(np.eye(3))
        >>> index.search(np.ones(3), 3, mask=np.array([True, False, True]))[0]
        array([[ 0,  2, -1]], dtype=int32)
        """
        return self._core.search(
            queries, k, ef=np.atleast_1d(np.asarray(ef)), mask=mask, threads=self.threads
        )

    def delete(self, ids: npt.ArrayLike) -> None:
        """Take ids out of all results; their nodes stay as ways to others until `compact`.

        Raises:
            InputError: an id is not there; nothing was deleted.

        >>> index = HNSW(3)
        >>> index.add(np.eye(3))
        >>> index.delete([1])
        >>> len(index), index.search(np.ones(3), 3)[0].tolist()
        (2, [[0, 2, -1]])
        """
        self._core.remove(np.atleast_1d(np.asarray(ids)))

    def compact(self) -> None:
        """Build the graph anew from the vectors that were not deleted; ids stay as they are.

        >>> index = HNSW(3)
        >>> index.add(np.eye(3))
        >>> index.delete(0)
        >>> index.compact()
        >>> index.deleted, index.ids.tolist()
        (0, [1, 2])
        """
        self._core.compact(threads=self.threads)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to a file; the old file stays until the new one is whole.

        Raises:
            CacheError: the file cannot be written.
        """
        with atomic_write(path, binary=True) as file:
            self._core.save(file.write)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, mmap: bool = True, threads: int | None = None
    ) -> HNSW:
        """The index that `save` wrote.

        Every byte is checked against a checksum; what changed or was cut off is refused.

        Args:
            path: the file.
            mmap: leave vectors and links in the file, shared with other processes and read through
                the page cache; they are copied to memory before the first change. ``False`` reads
                the file into memory.
            threads: as for a new index.

        Raises:
            InputError: no such file, or not a whole, unchanged index of a known version.

        >>> import tempfile, pathlib
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "index.hnsw"
        >>> index = HNSW(2)
        >>> index.add(np.eye(2))
        >>> index.save(file)
        >>> HNSW.load(file)
        HNSW(2 vectors, dim=2, m=16, storage='int8')
        """
        path = Path(path)
        index = cls.__new__(cls)
        index.threads = resolve_threads(threads)
        try:
            if mmap and path.stat().st_size > 0:
                data: npt.NDArray[np.uint8] = np.memmap(path, np.uint8, mode="r")
            else:
                data = np.fromfile(path, np.uint8)
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror or error}") from error
        index._core = _core.HNSW.load(data, name=str(path), threads=index.threads)
        return index
