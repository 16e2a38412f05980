"""The record's rows: each gold pair with its rank, or its miss, under every protocol and arm."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fastrecall.search.arms import ARMS, Arm, Finder
from fastrecall.study.answers import Answers
from fastrecall.study.misses import miss_reason
from fastrecall.study.protocols import Asked, Case
from fastrecall.study.summary import hits_within
from fastrecall.types import GoldPair

INSTEAD = 3
"""How many of the nodes that came instead are told for a miss."""


class Rows:
    """Collects what happened to each gold pair, protocol by protocol.

    ``told`` are the tickets (`Ticket.ref`) that the rows speak of.
    """

    def __init__(self, case: Case) -> None:
        self.told: set[str] = set()
        self._case = case
        self._rows: dict[tuple[str, int, str, int], dict[str, Any]] = {}
        self._ref = case.corpus.columns.ref
        for pair in case.gold.pairs:
            if pair.pr_node < 0:
                self._row(pair)["unreachable"] = True

    def add(self, protocol: str, asked: Asked, finder: Finder, answers: dict[str, Answers]) -> None:
        """Write down the pairs of one protocol."""
        links = asked.links.pairs()
        linked = [(pair.issue_node, pair.pr_node) in links for pair in asked.pairs]
        not_yet = asked.not_yet.tolist()
        ranks: list[dict[str, int | None]] = [{} for _ in asked.pairs]
        misses: list[dict[str, Any]] = [{} for _ in asked.pairs]
        for key, of_arm in answers.items():
            arm = ARMS[key]
            inside = hits_within(arm, of_arm.ranks, self._case.settings.budget)
            for of_pair, rank in zip(ranks, inside.tolist(), strict=True):
                of_pair[key] = rank or None
            missed = np.flatnonzero(inside == 0)
            questions = asked.rows[missed]
            came = of_arm.ids[questions, :INSTEAD]
            self.told.update(map(self._ref, np.unique(came[came >= 0]).tolist()))
            for i, rank, own_is_seed, instead in zip(
                missed.tolist(),
                of_arm.ranks[missed].tolist(),
                self._own_is_seed(arm, asked, finder)[questions].tolist(),
                came.tolist(),
                strict=True,
            ):
                misses[i][key] = {
                    **miss_reason(
                        arm,
                        rank or None,
                        linked=linked[i],
                        own_exists=not asked.symptoms_are_new,
                        own_is_seed=own_is_seed,
                        not_yet=not_yet[i],
                    ),
                    "instead": [self._ref(node) for node in instead if node >= 0],
                }
        for pair, found, lost in zip(asked.pairs, ranks, misses, strict=True):
            row = self._row(pair)
            row["ranks"][protocol] = found
            if lost:
                row["misses"][protocol] = lost

    def _own_is_seed(self, arm: Arm, asked: Asked, finder: Finder) -> npt.NDArray[np.bool_]:
        """For each question, whether the arm's walk started from the asked issue, too."""
        settings = self._case.settings
        seeds = finder.ranked(arm.links_from or "semantic").ids
        seeds = seeds[:, : settings.seeds or settings.budget]
        own: npt.NDArray[np.bool_] = (seeds == asked.nodes[:, None]).any(axis=1)
        return own

    def as_list(self) -> list[dict[str, Any]]:
        """All rows, by (repository, issue, the PR's repository, PR)."""
        return [self._rows[key] for key in sorted(self._rows)]

    def _row(self, pair: GoldPair) -> dict[str, Any]:
        pr_repo = pair.pr_repo or pair.repo
        key = (pair.repo, pair.issue, pr_repo, pair.pr)
        if key not in self._rows:
            self.told |= {f"{pair.repo}#{pair.issue}", f"{pr_repo}#{pair.pr}"}
            self._rows[key] = {
                "repo": pair.repo,
                "issue": pair.issue,
                "pr": pair.pr,
                # Only a PR of another repository than the issue's names its own.
                **({"pr_repo": pair.pr_repo} if pair.pr_repo else {}),
                "query": pair.query,
                "ranks": {},
                "misses": {},
            }
        return self._rows[key]
