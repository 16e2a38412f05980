"""Reciprocal rank fusion as its definition reads."""

from __future__ import annotations

from collections.abc import Sequence


def fuse(
    rankings: Sequence[Sequence[int]], k: float, weights: Sequence[float]
) -> list[tuple[int, float]]:
    """(id, score), best first: higher score, then lower id; ids below 0 are padding."""
    shares: dict[int, list[float]] = {}
    for ranking, weight in zip(rankings, weights, strict=True):
        seen = set()
        for rank, node in enumerate(ranking, start=1):
            if node >= 0 and node not in seen:
                seen.add(node)
                shares.setdefault(node, []).append(weight / (k + rank))
    totals = {node: sum(sorted(parts)) for node, parts in shares.items()}
    return sorted(totals.items(), key=lambda item: (-item[1], item[0]))
