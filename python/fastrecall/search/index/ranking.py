"""What an index ranks by: one form of result, whichever arm answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from fastrecall.types import Ids

MOST_ANSWERS = 50


@dataclass(frozen=True)
class Place:
    """Where a ticket stands by meaning and by words: ranks from 1, None where it has none.

    ``evidence`` is both together in standard deviations, where the arm works with such.
    """

    semantic: int | None
    cosine: float | None
    bm25: int | None
    bm25_score: float | None
    evidence: float | None = None

    def __str__(self) -> str:
        ranks = (("semantic", self.semantic), ("bm25", self.bm25))
        return ", ".join(f"{name} {rank}" for name, rank in ranks if rank is not None)


@dataclass(frozen=True)
class Found:
    """The ranking for one question.

    ``ids`` best first; ``leads`` the node that led to each, itself where it was found itself.
    ``cosine`` is that of the nearest visible node, 0 when there is none. ``place`` tells where a
    node stands.
    """

    ids: Ids
    leads: Ids
    cosine: float
    place: Callable[[int], Place]


class Ranker(Protocol):
    """One arm over the stored parts of an index."""

    def rank(
        self,
        question: str,
        *,
        wanted: npt.NDArray[np.bool_],
        visible: npt.NDArray[np.bool_],
        without: int | None,
        k: int,
    ) -> Found:
        """The *k* best *wanted* nodes ``[n]``.

        Of all others the *visible* may lead to them. The node *without* does not exist.
        """

    def similar(self, node: int, k: int) -> Ids:
        """The *k* nodes that are nearest to a node, without itself."""

    def holders(self, name: str) -> Ids:
        """The nodes that hold a name of `closeness.names_in`."""
