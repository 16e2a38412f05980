"""Breadth-first search in plain Python, and the invariants that any right answer satisfies."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence


def bfs_depths(nodes: int, edges: Iterable[tuple[int, int]], source: int) -> list[int]:
    """How many edges away each node is from *source*; -1 where it is not reached."""
    rows: list[list[int]] = [[] for _ in range(nodes)]
    for start, end in edges:
        rows[start].append(end)
    depths = [-1] * nodes
    depths[source] = 0
    queue = deque([source])
    while queue:
        node = queue.popleft()
        for neighbour in rows[node]:
            if depths[neighbour] < 0:
                depths[neighbour] = depths[node] + 1
                queue.append(neighbour)
    return depths


def violations(
    nodes: int, edges: Sequence[tuple[int, int]], source: int, depths: Sequence[int]
) -> list[str]:
    """What is wrong with *depths*, in words; an empty list when nothing is.

    Depths are right exactly when the source alone has depth 0, no edge leaves a reached node for
    an unreached one or skips a level, and every other reached node has a parent one level up.
    """
    wrong = [
        f"node {node} has depth 0"
        for node in range(nodes)
        if (depths[node] == 0) != (node == source)
    ]
    has_parent = {source}
    for start, end in edges:
        if depths[start] < 0:
            continue
        if depths[end] < 0:
            wrong.append(f"{end} is unreached beside the reached {start}")
        elif depths[end] > depths[start] + 1:
            wrong.append(f"the edge {start} -> {end} skips a level")
        elif depths[end] == depths[start] + 1:
            has_parent.add(end)
    wrong += [
        f"node {node} has no parent"
        for node in range(nodes)
        if depths[node] >= 0 and node not in has_parent
    ]
    return wrong
