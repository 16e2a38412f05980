"""What a reader must be told before the numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def cautions(record: Mapping[str, Any]) -> list[str]:
    """Sentences that limit what the record's numbers mean; often none.

    >>> cautions({"corpus": {"nodes": 20}, "settings": {"budget": 32}})
    ['budget 32 is not below the 20 nodes: an arm may return everything, so this proves nothing']
    """
    nodes, budget = record["corpus"]["nodes"], record["settings"]["budget"]
    if budget < nodes:
        return []
    return [
        f"budget {budget} is not below the {nodes} nodes: an arm may return everything, "
        "so this proves nothing"
    ]
