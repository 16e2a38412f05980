"""Why a gold pair was missed: one of `fastrecall.report.reading.MISS_REASONS`."""

from __future__ import annotations

from typing import Any

from fastrecall.search.arms import Arm


def miss_reason(
    arm: Arm,
    rank: int | None,
    *,
    linked: bool,
    own_exists: bool,
    own_is_seed: bool,
    not_yet: bool = False,
) -> dict[str, Any]:
    """The reason that *arm* missed a pair whose target came at *rank* (or nowhere).

    ``linked`` says whether the asked issue has a closing link to the target, ``own_exists`` whether
    that issue exists for the question, ``own_is_seed`` whether the walk started from it, too, and
    ``not_yet`` whether the target does not exist yet.

    >>> from fastrecall.search.arms import ARMS
    >>> miss_reason(ARMS["semantic"], 40, linked=True, own_exists=True, own_is_seed=True)
    {'reason': 'past_budget', 'rank': 40}
    """
    if rank is not None:
        return {"reason": "past_budget", "rank": rank}
    if not_yet:
        return {"reason": "not_yet"}
    if arm.links_from is None:
        return {"reason": "not_near"}
    if not linked:
        return {"reason": "no_link"}
    if not own_exists:
        return {"reason": "own_issue_removed"}
    return {"reason": "past_budget" if own_is_seed else "own_issue_not_a_seed"}
