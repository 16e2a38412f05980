"""Why a gold pair was missed."""

from __future__ import annotations

from typing import Any

from fastrecall.search.arms import Arm
from fastrecall.types import Ids

REASONS = {
    "past_budget": "it came, but behind the budget",
    "own_issue_removed": "the asked issue, which carries the link, does not exist here",
    "no_link": "no link leads from the asked issue to it",
    "own_issue_not_a_seed": "the asked issue, which carries the link, is not among the seeds",
    "not_near": "it is not among the nearest",
}
"""Every reason of a miss, with its meaning."""


def miss_reason(
    arm: Arm, rank: int | None, *, own: int, seeds: Ids, linked: bool, own_exists: bool
) -> dict[str, Any]:
    """The reason that *arm* missed a pair whose target came at *rank* (or nowhere).

    ``own`` is the asked issue's node (-1 when unknown), ``linked`` whether it has a closing link to
    the target, ``seeds`` what the walk started from.

    >>> from fastrecall.search.arms import ARMS
    >>> import numpy as np
    >>> miss_reason(ARMS["semantic"], 40, own=3, seeds=np.array([1]), linked=True, own_exists=True)
    {'reason': 'past_budget', 'rank': 40}
    """
    if rank is not None:
        return {"reason": "past_budget", "rank": rank}
    if arm.links_from is None:
        return {"reason": "not_near"}
    if not linked:
        return {"reason": "no_link"}
    if not own_exists:
        return {"reason": "own_issue_removed"}
    return {"reason": "past_budget" if own in seeds else "own_issue_not_a_seed"}
