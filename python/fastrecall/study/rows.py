"""The record's rows: each gold pair with its rank, or its miss, under every protocol and arm."""

from __future__ import annotations

from typing import Any

from fastrecall.search.arms import ARMS, Finder
from fastrecall.study.misses import miss_reason
from fastrecall.study.protocols import Asked, Case
from fastrecall.study.summary import Ranks, hits_within
from fastrecall.types import GoldPair, Rankings

INSTEAD = 3
"""How many of the nodes that came instead are told for a miss."""


class Rows:
    """Collects what happened to each gold pair, protocol by protocol."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._rows: dict[tuple[str, int, int], dict[str, Any]] = {}
        for pair in case.gold.pairs:
            if pair.pr_node < 0:
                self._row(pair)["unreachable"] = True

    def add(
        self,
        protocol: str,
        asked: Asked,
        finder: Finder,
        found: dict[str, Rankings],
        ranks: dict[str, Ranks],
    ) -> None:
        """Write down the pairs of one protocol."""
        settings = self._case.settings
        linked = set(zip(asked.links.issues.tolist(), asked.links.prs.tolist(), strict=True))
        inside = {
            arm: hits_within(ARMS[arm], of_arm, settings.budget).tolist()
            for arm, of_arm in ranks.items()
        }
        seed_count = settings.seeds or settings.budget
        for i, pair in enumerate(asked.pairs):
            question = int(asked.rows[i])
            row = self._row(pair)
            row["ranks"][protocol] = {arm: of_arm[i] or None for arm, of_arm in inside.items()}
            misses = {}
            for arm, of_arm in inside.items():
                if of_arm[i]:
                    continue
                misses[arm] = miss_reason(
                    ARMS[arm],
                    int(ranks[arm][i]) or None,
                    own=int(asked.nodes[question]),
                    seeds=finder.ranked(ARMS[arm].links_from or "semantic").ids[
                        question, :seed_count
                    ],
                    linked=(pair.issue_node, pair.pr_node) in linked,
                    own_exists=asked.exclude is None,
                )
                misses[arm]["instead"] = self._refs(found[arm].ids[question, :INSTEAD])
            if misses:
                row["misses"][protocol] = misses

    def as_list(self) -> list[dict[str, Any]]:
        """All rows, by (repository, issue, PR)."""
        return [self._rows[key] for key in sorted(self._rows)]

    def _row(self, pair: GoldPair) -> dict[str, Any]:
        key = (pair.repo, pair.issue, pair.pr)
        if key not in self._rows:
            self._rows[key] = {
                "repo": pair.repo,
                "issue": pair.issue,
                "pr": pair.pr,
                "query": pair.query,
                "ranks": {},
                "misses": {},
            }
        return self._rows[key]

    def _refs(self, ids: Any) -> list[str]:
        return [self._case.corpus.tickets[node].ref for node in ids.tolist() if node >= 0]
