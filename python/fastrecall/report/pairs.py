"""The pairs of a record, small enough to stand in a page: the script there draws them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastrecall.report.reading import MISS_REASONS


def pair_data(record: Mapping[str, Any]) -> dict[str, Any]:
    """What the table of pairs needs: names once, numbers as lists in the order of the names.

    ``pairs[i]`` is ``[issue, query, pr, ranks, misses]``: ``issue`` and ``pr`` are places in
    ``tickets`` (``[ref, "i" or "p", title]``), ``ranks[p]`` has a rank for each arm (0: missed,
    null: the arm was not asked) or is null where protocol ``p`` did not ask the pair,
    ``misses[p][a]`` is ``[reason, rank or 0, ticket, …]`` with the tickets that came instead.
    """
    protocols = list(record["protocols"])
    arms = list(arm_titles(record))
    reasons = list(MISS_REASONS)
    tickets = _Tickets(record.get("tickets", {}))
    pairs = []
    for row in record["queries"]:
        ranks = [
            [_rank(row["ranks"][protocol], arm) for arm in arms]
            if protocol in row["ranks"]
            else None
            for protocol in protocols
        ]
        misses = {
            protocols.index(protocol): {
                arms.index(arm): [
                    reasons.index(miss["reason"]),
                    miss.get("rank") or 0,
                    *(tickets.place(ref) for ref in miss["instead"]),
                ]
                for arm, miss in of_arm.items()
            }
            for protocol, of_arm in row["misses"].items()
        }
        issue = tickets.place(f"{row['repo']}#{row['issue']}")
        pr = tickets.place(f"{row.get('pr_repo') or row['repo']}#{row['pr']}")
        pairs.append([issue, row["query"], pr, ranks, misses])
    return {
        "protocols": [[key, record["protocols"][key]["title"]] for key in protocols],
        "arms": [[key, title] for key, title in arm_titles(record).items()],
        "reasons": [[key, sentence] for key, sentence in MISS_REASONS.items()],
        "tickets": tickets.listed,
        "pairs": pairs,
    }


def arm_titles(record: Mapping[str, Any]) -> dict[str, str]:
    """Every arm's title, in the order of tables; some arms answer some protocols only."""
    blocks = [block["arms"] for block in record["protocols"].values()]
    titles = {key: arm["title"] for arms in blocks for key, arm in arms.items()}
    return {key: titles[key] for key in record["settings"]["arms"] if key in titles}


def _rank(ranks: Mapping[str, int | None], arm: str) -> int | None:
    return ranks[arm] or 0 if arm in ranks else None


class _Tickets:
    """Numbers tickets in the order in which they are first spoken of."""

    def __init__(self, told: Mapping[str, Mapping[str, str]]) -> None:
        self.listed: list[list[str]] = []
        self._told = told
        self._places: dict[str, int] = {}

    def place(self, ref: str) -> int:
        if ref not in self._places:
            ticket = self._told.get(ref, {"kind": "", "title": ""})
            self._places[ref] = len(self.listed)
            self.listed.append([ref, ticket["kind"][:1], ticket["title"]])
        return self._places[ref]
