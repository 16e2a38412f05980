"""Cosines of questions and tickets that see the subject, not how a ticket is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from fastrecall.types import Vectors

LEAST_SQUARE = 1e-4
"""Keeps a text that says no more than the mean PR from being divided by 0."""

_LEAST_WAY = 1e-6
"""A shorter way between two means is rounding."""

_Floats: TypeAlias = npt.NDArray[np.float64]
_Bools: TypeAlias = npt.NDArray[np.bool_]
_Places: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Centres:
    """The mean PR ``[c, d]``, and the unit vectors ``[c, d]`` from it to the mean issue.

    Questions that share one share its row: ``middle_of`` and ``way_of`` ``[q]`` name it.
    """

    middles: _Floats
    ways: _Floats
    middle_of: _Places
    way_of: _Places


class PlainCosines:
    """Node vectors ``[n, d]``, the first *prs* of them of PRs, to be compared with questions.

    The mean PR is subtracted from every vector, and the direction from the mean PR to the mean
    issue is taken out. Both depend on which nodes exist for a question; so the vectors stay as they
    are, and cosines are put together from products with a few more columns than questions.
    """

    def __init__(self, vectors: Vectors, prs: int) -> None:
        self._vectors = vectors
        self._kinds = (slice(0, prs), slice(prs, len(vectors)))
        self._squares = np.einsum("nd,nd->n", vectors, vectors, dtype=np.float64)
        self._sums = [vectors[kind].sum(axis=0, dtype=np.float64) for kind in self._kinds]

    def centres_without(self, gone: _Places) -> Centres:
        """The centres for questions ``[q]`` for each of which one node is gone (-1: none)."""
        lacking, way_of = np.unique(gone, return_inverse=True)
        middles, issues = (
            self._mean_without(lacking, kind, total)
            for kind, total in zip(self._kinds, self._sums, strict=True)
        )
        # Whichever issue is gone, the mean PR is the same.
        lacking_prs = np.where(lacking < self._kinds[0].stop, lacking, -1)
        _, first, middle_of = np.unique(lacking_prs, return_index=True, return_inverse=True)
        return Centres(middles[first], _unit(issues - middles), middle_of[way_of], way_of)

    def centres_of(self, exists: _Bools) -> Centres:
        """The centres for one question for which some nodes exist."""
        middle, issue = (
            self._mean(exists[kind], kind, total)
            for kind, total in zip(self._kinds, self._sums, strict=True)
        )
        first = np.zeros(1, dtype=np.int64)
        return Centres(middle[np.newaxis], _unit((issue - middle)[np.newaxis]), first, first)

    def _mean_without(self, lacking: _Places, kind: slice, total: _Floats) -> _Floats:
        inside = (lacking >= kind.start) & (lacking < kind.stop)
        sums = np.tile(total, (len(lacking), 1))
        sums[inside] -= self._vectors[lacking[inside]]
        counts = kind.stop - kind.start - inside[:, np.newaxis]
        return np.where(counts > 0, sums / np.maximum(counts, 1), 0.0)

    def _mean(self, there: _Bools, kind: slice, total: _Floats) -> _Floats:
        """The mean of the nodes of a kind that are there: adds up these or the others, if fewer."""
        count = int(there.sum())
        vectors = self._vectors[kind]
        if 2 * count <= len(there):
            total = vectors[there].sum(axis=0, dtype=np.float64)
        else:
            total = total - vectors[~there].sum(axis=0, dtype=np.float64)
        return total / max(count, 1)

    def products(self, asked: Vectors, centres: Centres) -> Products:
        """What the cosines of *asked* are made of: ``[t, q, d]``, *t* vectors a question."""
        middles, ways = centres.middles[centres.middle_of], centres.ways[centres.way_of]
        plain = asked - middles
        plain -= np.einsum("tqd,qd->tq", plain, ways)[..., np.newaxis] * ways
        plain = _unit(plain)
        columns = np.concatenate([*plain, centres.ways, centres.middles])
        products = columns.astype(np.float32) @ self._vectors.T
        ways_from, middles_from = np.cumsum([plain[..., 0].size, len(centres.ways)])
        squares = np.einsum("cd,cd->c", centres.middles, centres.middles)
        return Products(
            asked=products[:ways_from].reshape(*plain.shape[:2], len(self._vectors)),
            asked_shifts=np.einsum("tqd,qd->tq", plain, middles),
            ways=products[ways_from:middles_from],
            way_shifts=np.einsum("qd,qd->q", ways, middles),
            distances=self._squares + squares[:, np.newaxis] - 2.0 * products[middles_from:],
            centres=centres,
        )


@dataclass(frozen=True)
class Products:
    """Products of all nodes with plain questions ``[t, q, n]`` and ways ``[c, n]``.

    The shifts, ``[t, q]`` and ``[q]``, are what to subtract to make them products of vectors that
    start at the mean PR; ``distances`` ``[c, n]`` are squared ones from there.
    """

    asked: Vectors
    asked_shifts: _Floats
    ways: Vectors
    way_shifts: _Floats
    distances: _Floats
    centres: Centres

    def cosines(self, some: slice, nodes: slice | _Places = slice(None)) -> _Floats:
        """The cosines ``[t, q, n]`` of some questions and nodes."""
        along_way = self.ways[self.centres.way_of[some]][:, nodes] - self.way_shifts[some, None]
        lengths = self.distances[self.centres.middle_of[some]][:, nodes]
        lengths -= along_way * along_way
        np.maximum(lengths, LEAST_SQUARE, out=lengths)
        np.sqrt(lengths, out=lengths)
        cosines: _Floats = self.asked[:, some][..., nodes] - self.asked_shifts[:, some, None]
        cosines /= lengths
        return cosines


def _unit(vectors: _Floats) -> _Floats:
    """Vectors of length 1; those that are as good as 0 become 0."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.where(lengths > _LEAST_WAY, vectors / np.maximum(lengths, _LEAST_WAY), 0.0)
