"""What a reader must be told before the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fastrecall.report.format import points


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
    protocols = record.get("protocols", {})
    if "published" in protocols and "leave-one-out" not in protocols:
        yield (
            "every asked issue is itself stored and may simply find itself: only leave-one-out "
            "(not run here) speaks for new symptoms"
        )
    if "reasoning" in record:
        yield record["reasoning"]["sentence"]
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
