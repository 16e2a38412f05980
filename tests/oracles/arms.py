"""The arms, slow and readable: full sorts, dictionaries, one query at a time (DESIGN §4)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

import numpy as np

Adjacency = dict[int, list[int]]


def nearest(vectors: np.ndarray, query: np.ndarray, allowed: Collection[int], k: int) -> list[int]:
    """The *k* best allowed nodes by cosine: higher first, then lower id."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True).astype(np.float64)
    scores = unit @ (query.astype(np.float64) / np.linalg.norm(query.astype(np.float64)))
    return sorted(allowed, key=lambda node: (-np.float32(scores[node]), node))[:k]


def closing(pairs: Collection[tuple[int, int]]) -> Adjacency:
    """Issue → its PRs, ascending."""
    adjacency: Adjacency = defaultdict(list)
    for issue, pr in sorted(pairs):
        adjacency[issue].append(pr)
    return adjacency


def causal(seeds: list[int], adjacency: Adjacency, *, depth: int, missing: int | None) -> list[int]:
    """Each seed, then what it reaches breadth-first and was not yet emitted."""
    emitted: list[int] = []
    for seed in seeds:
        level, seen = [seed], {seed}
        for _ in range(depth + 1):
            emitted += [node for node in level if node not in emitted]
            level = sorted(
                {
                    node
                    for parent in level
                    for node in adjacency.get(parent, [])
                    if node not in seen and node != missing
                },
            )
            seen |= set(level)
    return emitted


def hits(rankings: dict[int, list[int]], pairs: Collection[tuple[int, int]], budget: int) -> int:
    """How many (issue, PR) pairs have the PR among the first *budget* of the issue's ranking."""
    return sum(pr in rankings[issue][:budget] for issue, pr in pairs)
