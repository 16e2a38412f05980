"""The control: closing links that lead to the wrong PRs, which a causal arm must fail."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fastrecall.study.protocols.base import Asked, Case, Protocol, ask_pairs
from fastrecall.types import Links


def ask(case: Case) -> Asked:
    """As published, but walks follow links whose answers were exchanged among issues."""
    return replace(
        ask_pairs(case, case.gold.pairs), links=shuffle_links(case.links, case.settings.seed)
    )


def shuffle_links(links: Links, seed: int) -> Links:
    """Give each issue the PRs of another issue with as many links: degrees stay as they are.

    Within a group of equal degree the PR sets move on by one place of a seeded order, so that no
    issue keeps its own (but for a group of one).

    >>> issues, prs = np.array([0, 1], dtype=np.int32), np.array([7, 8], dtype=np.int32)
    >>> shuffle_links(Links(issues, prs, np.ones(2, dtype=np.uint8)), 0).prs.tolist()
    [8, 7]
    """
    _, starts, degrees = np.unique(links.issues, return_index=True, return_counts=True)
    rng = np.random.default_rng(seed)
    prs = links.prs.copy()
    for degree in np.unique(degrees):
        group = rng.permutation(np.flatnonzero(degrees == degree))
        for mine, other in zip(group, np.roll(group, 1), strict=True):
            source = starts[other]
            prs[starts[mine] : starts[mine] + degree] = links.prs[source : source + degree]
    order = np.lexsort((prs, links.issues))
    return Links(links.issues[order], prs[order], links.sources[order], links.notes)


PROTOCOL = Protocol(
    "shuffled",
    "shuffled links (control)",
    "links lead to other issues' PRs: causal must lose its lead",
    ask,
)
