"""Exact cosine search the slow, readable way: what the engine must meet bit by bit."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

LANES = 16


def dot(rows: npt.NDArray[np.float32], query: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """Dot products in float64, with one query or with a row each, summed in the engine's order:
    by lane = index mod 16, then lanes by halves. A product of two float32 is exact in float64, so
    only the order can matter."""
    n, dim = rows.shape
    padded = -(-dim // LANES) * LANES
    products = np.zeros((n, padded))
    products[:, :dim] = rows.astype(np.float64) * query.astype(np.float64)
    lanes = np.zeros((n, LANES))
    for start in range(0, padded, LANES):
        lanes += products[:, start : start + LANES]
    while lanes.shape[1] > 1:
        half = lanes.shape[1] // 2
        lanes = lanes[:, :half] + lanes[:, half:]
    return lanes[:, 0]


def unit(vectors: npt.ArrayLike) -> npt.NDArray[np.float32]:
    """float32 rows of length one; zero rows stay zero."""
    rows = np.asarray(vectors).astype(np.float32)
    lengths = np.sqrt(dot(rows, rows))
    lengths[lengths == 0] = 1
    return (rows.astype(np.float64) / lengths[:, None]).astype(np.float32)


def stored(vectors: npt.ArrayLike, storage: str) -> npt.NDArray[np.float32]:
    """The unit rows that an index keeps."""
    rows = unit(vectors)
    return rows.astype(np.float16).astype(np.float32) if storage == "float16" else rows


def scores(
    rows: npt.NDArray[np.float32], query: npt.NDArray[np.float32]
) -> npt.NDArray[np.float32]:
    """Score of every stored row for one unit query; -0 becomes 0."""
    return dot(rows, query).astype(np.float32) + np.float32(0)


def top(
    all_scores: npt.NDArray[np.float32], k: int, allowed: npt.NDArray[np.bool_] | None = None
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    """The k best: higher score first, then lower id; -1 and nan past the end."""
    ids = np.arange(len(all_scores))
    if allowed is not None:
        ids = ids[allowed]
    ids = ids[np.lexsort((ids, -all_scores[ids]))][:k]
    best = np.full(k, -1, np.int32), np.full(k, np.nan, np.float32)
    best[0][: len(ids)] = ids
    best[1][: len(ids)] = all_scores[ids]
    return best


def search(
    vectors: npt.ArrayLike,
    queries: npt.ArrayLike,
    k: int,
    *,
    exclude: list[list[int]] | None = None,
    mask: npt.NDArray[np.bool_] | None = None,
    storage: str = "float32",
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    """What `fastrecall.ExactIndex(vectors).search(queries, k, ...)` must return."""
    return _search(stored(vectors, storage), unit(queries), k, exclude, mask)


def knn_graph(
    vectors: npt.ArrayLike, k: int, *, storage: str = "float32"
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    """What `fastrecall.ExactIndex(vectors).knn_graph(k)` must return: both ends as stored."""
    rows = stored(vectors, storage)
    return _search(rows, rows, k, [[i] for i in range(len(rows))], None)


def _search(
    rows: npt.NDArray[np.float32],
    queries: npt.NDArray[np.float32],
    k: int,
    exclude: list[list[int]] | None,
    mask: npt.NDArray[np.bool_] | None,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    ids = np.full((len(queries), k), -1, np.int32)
    values = np.full((len(queries), k), np.nan, np.float32)
    for q, query in enumerate(queries):
        allowed = np.ones(len(rows), np.bool_)
        if mask is not None:
            allowed &= mask if mask.ndim == 1 else mask[q]
        if exclude is not None:
            allowed[exclude[q]] = False
        ids[q], values[q] = top(scores(rows, query), k, allowed)
    return ids, values
