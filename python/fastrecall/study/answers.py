"""What an arm returned under a protocol, as far as anybody asks for it later."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fastrecall.search.arms import Arm, Finder
from fastrecall.study.protocols import Asked
from fastrecall.types import Ids

Ranks = npt.NDArray[np.int64]
"""Rank from 1 of each pair's target in an arm's ranking; 0 where it did not come."""


@dataclass(frozen=True)
class Answers:
    """One arm's answers to the questions of one protocol.

    ``ids`` ``[queries, width]`` are the heads of the rankings, -1 past the end: all that a cut arm
    returned, and the beginning of what an uncut walk did. ``sizes`` ``[queries]`` counts all of it;
    ``ranks`` ``[pairs]`` were looked up in all of it.
    """

    ids: Ids
    sizes: npt.NDArray[np.int64]
    ranks: Ranks


def collect(finder: Finder, arm: Arm, asked: Asked) -> Answers:
    """Run *arm* and keep what `Answers` holds, without ever holding all rankings."""
    queries = len(asked.texts)
    ids = np.full((queries, finder.reach.width), -1, dtype=np.int32)
    sizes = np.zeros(queries, dtype=np.int64)
    ranks = np.zeros(len(asked.pairs), dtype=np.int64)
    order = np.argsort(asked.rows, kind="stable")
    ordered = asked.rows[order]
    for some, rankings in finder.run(arm):
        head = rankings.ids[:, : ids.shape[1]]
        ids[some, : head.shape[1]] = head
        sizes[some] = (rankings.ids >= 0).sum(axis=1)
        pairs = order[slice(*np.searchsorted(ordered, (some.start, some.stop)))]
        ranks[pairs] = ranks_of(rankings.ids, asked.rows[pairs] - some.start, asked.targets[pairs])
    return Answers(ids, sizes, ranks)


def ranks_of(ids: Ids, rows: npt.NDArray[np.integer], targets: Ids) -> Ranks:
    """The rank of each pair's target in the ranking of its question.

    >>> ids = np.array([[5, 3, -1]], dtype=np.int32)
    >>> ranks_of(ids, np.array([0, 0]), np.array([3, 9], dtype=np.int32)).tolist()
    [2, 0]
    """
    came = ids[rows] == targets[:, None]
    return np.where(came.any(axis=1), came.argmax(axis=1) + 1, 0)
