"""Similarity edges from the nearest neighbours of every node."""

from __future__ import annotations

import numpy as np

from fastrecall.errors import InputError
from fastrecall.graph.edges import Edges, edge_type
from fastrecall.types import Ids, Scores


def similar_edges(ids: Ids, scores: Scores) -> Edges:
    """Edges of type `similar` between each node and its nearest neighbours, in both directions.

    A pair is joined when either node is among the other's nearest; both directions weigh the same,
    the higher of the two similarities. No edge leads from a node to itself.

    Args:
        ids: nearest neighbours of node ``i`` in row ``i`` [nodes, k], -1 past the end.
        scores: their similarities [nodes, k]; ignored past the end.

    Raises:
        InputError: the shapes differ, an id is outside of the rows, or a similarity is not finite.

    >>> edges = similar_edges(np.array([[1], [2], [1]], np.int32),
    ...                       np.array([[0.5], [0.9], [0.9]], np.float32))
    >>> list(zip(edges.sources.tolist(), edges.targets.tolist()))
    [(0, 1), (1, 0), (1, 2), (2, 1)]
    """
    ids, scores = np.asarray(ids), np.asarray(scores)
    if ids.ndim != 2 or ids.shape != scores.shape:
        raise InputError(
            f"ids is {ids.shape} and scores is {scores.shape}; expected [nodes, k] for both"
        )
    if ids.size and ids.dtype.kind not in "iu":
        raise InputError(f"ids is {ids.dtype}; expected whole numbers")
    nodes = len(ids)
    rows, columns = np.nonzero(ids >= 0)
    near, weights = ids[rows, columns].astype(np.int64), scores[rows, columns].astype(np.float32)
    if near.size and near.max() >= nodes:
        raise InputError(
            f"ids names node {near.max()} and has {nodes} rows; expected one row a node"
        )
    if not np.isfinite(weights).all():
        raise InputError("scores has values that are not finite beside a neighbour")

    apart = near != rows
    rows, near, weights = rows[apart], near[apart], weights[apart]
    pairs, place = np.unique(
        np.minimum(rows, near) * nodes + np.maximum(rows, near), return_inverse=True
    )
    best = np.full(len(pairs), -np.inf, np.float32)
    np.maximum.at(best, place, weights)

    lower, higher = pairs // max(nodes, 1), pairs % max(nodes, 1)
    sources = np.concatenate([lower, higher]).astype(np.int32)
    targets = np.concatenate([higher, lower]).astype(np.int32)
    order = np.lexsort((targets, sources))
    return Edges(
        sources[order],
        targets[order],
        np.full(len(order), edge_type("similar"), np.uint8),
        np.concatenate([best, best])[order],
    )
