"""The control: closing links that lead to the wrong PRs, which a causal arm must fail."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fastrecall.study.protocols.base import Asked, Case, Protocol, ask_pairs
from fastrecall.types import Ids, Links

_TRIES = 100
"""How many exchanges are tried for a link that still leads where it led."""


def ask(case: Case) -> Asked:
    """As published, but walks follow links whose answers were exchanged among issues."""
    links = shuffle_links(case.links, case.settings.seed)
    kept = len(links.pairs() & case.links.pairs())
    return replace(ask_pairs(case, case.gold.pairs), links=links, kept_links=kept)


def shuffle_links(links: Links, seed: int) -> Links:
    """Give each issue other PRs; how many links an issue has, and a PR, stays as it is.

    Within a group of issues with equally many links the PRs move on by one place of a seeded order.
    A link that came to lead where it led before (an issue alone in its group, a PR of several
    issues) then changes PRs with another link. Where no link can give it a wrong PR it stays: a
    single PR that closes everything, say.

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
    _lead_elsewhere(links, prs, rng)
    order = np.lexsort((prs, links.issues))
    return Links(links.issues[order], prs[order], links.sources[order], links.notes)


def _lead_elsewhere(links: Links, prs: Ids, rng: np.random.Generator) -> None:
    """Exchange, in place, the PR of each true link with that of one that makes two wrong ones."""
    true = links.pairs()
    now = set(zip(links.issues.tolist(), prs.tolist(), strict=True))
    for here in range(len(prs)):
        issue, pr = int(links.issues[here]), int(prs[here])
        if (issue, pr) not in true:
            continue
        for there in rng.integers(0, len(prs), _TRIES).tolist():
            other, its = int(links.issues[there]), int(prs[there])
            new = {(issue, its), (other, pr)}
            if new.isdisjoint(true) and new.isdisjoint(now):
                now -= {(issue, pr), (other, its)}
                now |= new
                prs[here], prs[there] = its, pr
                break


PROTOCOL = Protocol(
    "shuffled",
    "shuffled links (control)",
    "links lead to other issues' PRs: causal must lose its lead",
    ask,
)
