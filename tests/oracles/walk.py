"""Walks in plain Python: dicts, lists, sorting; the readable truth for `Graph.walk`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Edge(NamedTuple):
    source: int
    target: int
    type: int = 0
    weight: float = 1.0


def adjacency(
    edges: Iterable[Edge],
    *,
    types: set[int] | None = None,
    undirected: bool = False,
    exclude: Iterable[int] = (),
) -> dict[int, list[tuple[float, int]]]:
    """(weight, neighbour) of each node, by (higher weight, lower id)."""
    gone = set(exclude)
    rows: dict[int, list[tuple[float, int]]] = defaultdict(list)
    for edge in edges:
        if (types is not None and edge.type not in types) or gone & {edge.source, edge.target}:
            continue
        rows[edge.source].append((edge.weight, edge.target))
        if undirected:
            rows[edge.target].append((edge.weight, edge.source))
    for row in rows.values():
        row.sort(key=lambda pair: (-pair[0], pair[1]))
    return rows


def walk_by_seed(
    rows: dict[int, list[tuple[float, int]]],
    seeds: Sequence[int],
    *,
    depth: int,
    budget: int | None,
    exclude: Iterable[int] = (),
) -> list[tuple[int, int]]:
    """(node, seed rank from 1): every seed in turn, breadth-first, what was not emitted before."""
    gone = set(exclude)
    found: list[tuple[int, int]] = []
    emitted: set[int] = set()
    for rank, seed in enumerate(seeds, 1):
        if seed < 0 or seed in gone:
            continue
        reached, level = [seed], [seed]
        for _ in range(depth):
            nearer: list[int] = []
            for node in level:
                for _weight, neighbour in rows.get(node, []):
                    if neighbour not in reached:
                        reached.append(neighbour)
                        nearer.append(neighbour)
            level = nearer
        found += [(node, rank) for node in reached if node not in emitted]
        emitted.update(reached)
    return found[:budget]


def walk_by_depth(
    rows: dict[int, list[tuple[float, int]]],
    seeds: Sequence[int],
    *,
    depth: int,
    budget: int | None,
    exclude: Iterable[int] = (),
) -> list[tuple[int, int]]:
    """(node, seed rank from 1) by (depth, seed rank, weight of the discovering edge, id)."""
    gone = set(exclude)
    level: list[tuple[int, int]] = []
    for rank, seed in enumerate(seeds, 1):
        if seed >= 0 and seed not in gone and seed not in {node for node, _ in level}:
            level.append((seed, rank))
    found = list(level)
    for _ in range(depth):
        known = {node for node, _ in found}
        claims: dict[int, list[tuple[int, float]]] = defaultdict(list)
        for node, rank in level:
            for weight, neighbour in rows.get(node, []):
                if neighbour not in known:
                    claims[neighbour].append((rank, -weight))
        ordered = sorted((*min(claim), node) for node, claim in claims.items())
        level = [(node, rank) for rank, _weight, node in ordered]
        found += level
    return found[:budget]
