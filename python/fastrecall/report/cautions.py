"""What a reader must be told before the numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from statistics import median
from typing import Any

from fastrecall.report.format import percent, plural, points

LARGE_SHARE = 0.2
"""A budget of that share of all PRs finds too many of them by chance."""

TOO_NARROW = 1.2
"""How much wider intervals must be, taken by issue, for Wilson's to be called too narrow."""


def cautions(record: Mapping[str, Any]) -> list[str]:
    """Sentences that limit what the record's numbers mean; often none.

    >>> cautions({"corpus": {"nodes": 20}, "settings": {"budget": 32}})
    ['budget 32 is not below the 20 nodes: an arm may return everything, so this proves nothing']
    """
    return list(_cautions(record))


def _cautions(record: Mapping[str, Any]) -> Iterator[str]:
    nodes, budget = record["corpus"]["nodes"], record["settings"]["budget"]
    if budget >= nodes:
        yield (
            f"budget {budget} is not below the {nodes} nodes: an arm may return everything, "
            "so this proves nothing"
        )
    elif budget >= LARGE_SHARE * record["corpus"]["prs"]:
        prs = record["corpus"]["prs"]
        yield (
            f"budget {budget} is large beside {plural(prs, 'PR')}: an arm that returns PRs by the "
            f"throw of dice finds {percent(min(1.0, budget / prs))} of them"
        )
    protocols = record.get("protocols", {})
    if "published" in protocols and "leave-one-out" not in protocols:
        yield (
            "every asked issue is itself stored and may simply find itself: only leave-one-out "
            "(not run here) speaks for new symptoms"
        )
    if "reasoning" in record:
        yield record["reasoning"]["sentence"]
    for block in protocols.values():
        wider = _widening(block["arms"].values())
        if wider > TOO_NARROW:
            yield (
                f"{block['title']}: {plural(block['pairs'], 'pair')}, but only "
                f"{plural(block['queries'], 'question')}; taken by issue, intervals are about "
                f"{wider:.1f} times as wide as Wilson's"
            )
    kept = protocols.get("shuffled", {}).get("kept_links", 0)
    if kept:
        yield (
            f"shuffled links: {kept} could not be led to a wrong PR and still "
            f"{'leads' if kept == 1 else 'lead'} to the right one; the control is weaker by that"
        )
    control = record.get("gain", {}).get("shuffled")
    if control and control["ci95"][0] > 0:
        yield (
            f"the control does not fail: {control['title']} even with shuffled links "
            f"({points(control['difference'], control['ci95'])}), so links alone do not explain it"
        )


def _widening(arms: Iterable[Mapping[str, Any]]) -> float:
    """How much wider the intervals of shares are when all pairs of an issue are taken together."""
    ratios = [
        (arm["rate_ci95"][1] - arm["rate_ci95"][0]) / (arm["wilson95"][1] - arm["wilson95"][0])
        for arm in arms
        if 0 < arm["hits"] < arm["pairs"] and None not in arm.get("rate_ci95", [None])
    ]
    return median(ratios) if ratios else 1.0
