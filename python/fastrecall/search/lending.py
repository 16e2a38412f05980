"""What a PR borrows from the tickets it is linked with."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fastrecall.errors import InputError
from fastrecall.search.evidence import Floats, Places
from fastrecall.types import Ids

LINK_DISCOUNT = 1.0
"""What a linked ticket's evidence loses on its way, in standard deviations: flat 0.5 to 1.5."""


class Lending:
    """Which ticket lends to which PR.

    Args:
        place: where each node lies ``[n]``; the first *prs* places are PRs.
        links: node pairs ``[m, 2]``, in any order and direction.
        prs: how many PRs there are.

    Raises:
        InputError: links outside the nodes.

    >>> lending = Lending(np.arange(3), np.array([[2, 0]]), prs=2)
    >>> lending.scores(np.array([[0.0, 0.5, 3.0]]))
    array([[2. , 0.5]])
    """

    def __init__(self, place: Places, links: npt.NDArray[np.integer], prs: int) -> None:
        self._size, self._prs = len(place), prs
        self._borrowers, self._starts, self._others = _linked(place, links, prs)

    def scores(self, evidence: Floats) -> Floats:
        """For each PR its evidence, or that of the best linked node less the discount."""
        prs, starts, others = self._borrowers, self._starts, self._others
        found = evidence[:, : self._prs].copy()
        if len(prs):
            # "clip" spares the check of every id, which takes longer than the reading.
            lenders = np.take(evidence, others, axis=1, mode="clip")
            lent = self.lent(np.maximum.reduceat(lenders, starts, axis=1))
            own = found[:, prs]
            # A PR that does not exist stays out, whatever it is linked with.
            found[:, prs] = np.where(np.isfinite(own), np.maximum(own, lent), -np.inf)
        return found

    def lenders(self, evidence: Floats, scores: Floats) -> Places:
        """The place whose evidence each place scores by, -1 for its own: the first of equals."""
        prs, starts, others = self._borrowers, self._starts, self._others
        borrowers = np.repeat(prs, np.diff(np.append(starts, len(others))))
        lends = self.lent(evidence)[others] == scores[borrowers]
        lends &= scores[borrowers] > evidence[borrowers]
        lenders = np.full(self._size, -1)
        first_last = np.flatnonzero(lends)[::-1]
        lenders[borrowers[first_last]] = others[first_last]
        return lenders

    def lent(self, evidence: Floats) -> Floats:
        """What nodes of that evidence lend."""
        return evidence - LINK_DISCOUNT


def joined_links(issues: Ids, prs: Ids, mentions: Ids) -> Ids:
    """Closing links and mentions ``[m, 2]`` as the pairs that `Best` takes.

    >>> joined_links(np.array([0]), np.array([2]), np.array([[1, 2]])).tolist()
    [[0, 2], [1, 2]]
    """
    return np.concatenate([np.stack([issues, prs], axis=1), mentions])


def _linked(
    place: Places, links: npt.NDArray[np.integer], prs: int
) -> tuple[Places, Places, Places]:
    """Places of PRs that have links, where each one's neighbours start, and the neighbours."""
    links = links.reshape(-1, 2)
    if links.size and not (links.min() >= 0 and links.max() < len(place)):
        raise InputError(f"Best: links name nodes outside 0 … {len(place) - 1}")
    pairs = place[links.astype(np.int64)]
    both = np.concatenate([pairs, pairs[:, ::-1]])
    both = both[(both[:, 0] < prs) & (both[:, 0] != both[:, 1])]
    # One number a pair: sorted ten times faster than rows are.
    keys = np.unique(both[:, 0] * len(place) + both[:, 1])
    borrowers, lenders = np.divmod(keys, max(1, len(place)))
    linked, starts = np.unique(borrowers, return_index=True)
    return linked, starts, lenders
