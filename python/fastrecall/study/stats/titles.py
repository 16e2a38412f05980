"""Titles that come again: the same but for numbers, or nearly the same by their vectors."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence

import numpy as np

from fastrecall.search.exact import ExactIndex
from fastrecall.types import Corpus, Kind, Vectors

_HASH = re.compile(r"\b(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b")
_NUMBER = re.compile(
    r"#?(?:(?<![^\W_])v)?\d+(?:[.:/_-]\d+)*(?:[.-]?(?:alpha|beta|rc|pre|dev|post)[.-]?\d*\b)?"
)

Groups = list[tuple[int, ...]]


def normal_title(title: str) -> str:
    """A title without its case and with ``#`` for every number, version, date and hash.

    >>> normal_title("Bump grpc from 1.2.3 to v1.10.0-rc1"), normal_title("Sync docs c0ffee12 (#9)")
    ('bump grpc from # to #', 'sync docs # (#)')
    """
    return " ".join(_NUMBER.sub("#", _HASH.sub("#", title.lower())).split())


def exact_groups(corpus: Corpus, kind: Kind) -> Groups:
    """The tickets of a kind in groups by `normal_title`, in order of their first node.

    Groups of one are there as well. Titles without any letter say nothing, and stay alone.
    """
    # Digests, for millions of titles would take many times the memory.
    groups: dict[bytes, list[int]] = {}
    for node, ticket in enumerate(corpus.tickets):
        if ticket.kind == kind:
            title = normal_title(ticket.title)
            says = any(character.isalpha() for character in title)
            named = title if says else f"{title} {node}"
            digest = hashlib.blake2b(named.encode("utf-8", "surrogatepass"), digest_size=16)
            groups.setdefault(digest.digest(), []).append(node)
    return [tuple(nodes) for nodes in groups.values()]


def near_groups(
    groups: Groups,
    vectors: Vectors,
    *,
    threshold: float,
    neighbours: int,
    threads: int | None = None,
) -> Groups:
    """Groups joined where their titles are near: a chain of neighbours, each step near enough.

    Args:
        groups: what is to be joined.
        vectors: one a group, of the title of its first ticket [groups, d].
        threshold: the least cosine of two neighbours.
        neighbours: how many nearest titles each title is compared with.
        threads: threads to use.

    >>> vectors = np.array([[1, 0], [0.99, 0.1], [0, 1]], np.float32)
    >>> near_groups([(0,), (1, 4), (2,)], vectors, threshold=0.9, neighbours=2)
    [(0, 1, 4), (2,)]
    """
    if len(groups) < 2:
        return groups
    ids, scores = ExactIndex(vectors, threads=threads).knn_graph(min(neighbours, len(groups) - 1))
    rows, columns = np.nonzero((ids >= 0) & (scores >= threshold))
    roots = _joined(len(groups), zip(rows.tolist(), ids[rows, columns].tolist(), strict=True))
    joined: dict[int, list[int]] = {}
    for root, group in zip(roots, groups, strict=True):
        joined.setdefault(root, []).extend(group)
    return [tuple(sorted(nodes)) for nodes in joined.values()]


def _joined(count: int, pairs: Iterable[tuple[int, int]]) -> Sequence[int]:
    """Union-find: for each of *count* things the lowest one that it is joined with."""
    parent = list(range(count))

    def root(one: int) -> int:
        while parent[one] != one:
            parent[one] = parent[parent[one]]
            one = parent[one]
        return one

    for one, other in pairs:
        low, high = sorted((root(one), root(other)))
        parent[high] = low
    return [root(one) for one in range(count)]
