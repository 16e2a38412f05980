"""The nearest nodes of some questions, searched once for all protocols that ask the same."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from fastrecall.search.existing import Existing, Search
from fastrecall.search.memory import Searched
from fastrecall.types import Ids, Rankings, Scores, Vectors


@dataclass
class Nearest:
    """The questions ``vectors`` to one memory.

    Protocols that differ in no more than the one node which does not exist for a question share
    one search: it goes a place deeper, and each takes its own node out. ``spared`` counts the
    seconds of searches that did not have to be made again.
    """

    memory: Searched
    vectors: Vectors
    spared: float = 0.0
    _found: dict[tuple[int, bool], tuple[Rankings, float]] = field(default_factory=dict)

    def ranked(
        self,
        depth: int,
        *,
        only_prs: bool = False,
        exclude: Ids | None = None,
        allowed: Existing | None = None,
    ) -> Rankings:
        """The *depth* nearest nodes, or PRs, to each question.

        ``exclude`` ``[queries]`` and ``allowed`` as in `Queries`.
        """
        if allowed is not None:
            return Rankings(*allowed.searched(self._among(depth, only_prs, exclude)))
        found = self._everything(depth + 1, only_prs)
        if exclude is None:
            exclude = np.full(len(self.vectors), -1, dtype=np.int32)
        return _without(found, exclude)

    def _among(self, depth: int, only_prs: bool, exclude: Ids | None) -> Search:
        """A search by some of the questions among the nodes that exist for each."""

        def search(some: slice, exists: npt.NDArray[np.bool_]) -> tuple[Ids, Scores]:
            return self.memory.nearest.search(
                self.vectors[some],
                depth,
                exclude=None if exclude is None else exclude[some],
                mask=exists & self.memory.is_pr if only_prs else exists,
            )

        return search

    def _everything(self, depth: int, only_prs: bool) -> Rankings:
        if (depth, only_prs) in self._found:
            rankings, seconds = self._found[depth, only_prs]
            self.spared += seconds
            return rankings
        mask = self.memory.is_pr if only_prs else None
        index = self.memory.nearest
        start = time.perf_counter()
        rankings = Rankings(*index.search(self.vectors, depth, mask=mask))
        self._found[depth, only_prs] = rankings, time.perf_counter() - start
        return rankings


def _without(rankings: Rankings, exclude: Ids) -> Rankings:
    """The rankings without one node each, and one place shorter.

    >>> ids = np.array([[4, 9, 7], [4, 9, 7]], dtype=np.int32)
    >>> _without(Rankings(ids, ids.astype(np.float32)), np.array([9, -1])).ids.tolist()
    [[4, 7], [4, 9]]
    """
    ids, scores = rankings.ids, rankings.scores
    depth = ids.shape[1] - 1
    here = ids == exclude[:, None]
    place = np.where(here.any(axis=1), here.argmax(axis=1), depth)
    columns = np.arange(depth) + (np.arange(depth) >= place[:, None])
    return Rankings(
        np.take_along_axis(ids, columns, axis=1),
        None if scores is None else np.take_along_axis(scores, columns, axis=1),
    )
