"""Okapi BM25 over texts with fields, exact under "this node does not exist for this query".

Why not bm25s: it stores finished scores, with document counts and mean length already inside, so a
node cannot be taken out for one query; it selects with argpartition, so ties are not ordered; and
its filter is one mask for a whole batch. Here the postings keep plain term counts, and everything
that depends on the collection is worked out per query.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from fastrecall.errors import InputError
from fastrecall.search import tokens
from fastrecall.types import Ids, Scores

_Bools: TypeAlias = npt.NDArray[np.bool_]
_Floats: TypeAlias = npt.NDArray[np.float64]
_Ints: TypeAlias = npt.NDArray[np.int64]


class BM25:
    """An index of texts for keyword search.

    The score of a text is Σ over query terms, each as often as the query holds it, of
    ``idf · tf / (tf + k1 · (1 - b + b · length / mean length))`` with
    ``idf = ln(1 + (N - df + 0.5) / (df + 0.5))``: the form that Lucene uses. With several fields,
    ``tf`` and ``length`` are weighted sums over the fields (simple BM25F: Robertson, Zaragoza,
    Taylor, CIKM 2004, 10.1145/1031171.1031181).

    Memory: 8 bytes per (term, text) pair that occurs, 8 bytes per text and field, and the words.

    Args:
        texts: One string per node, or for fields a mapping from field name to such sequences of
            equal length, e.g. ``{"title": [...], "body": [...]}``.
        k1: How slowly repeated terms stop counting, ≥ 0.
        b: How much long texts are held back, 0 to 1.
        weights: Field weights > 0; 1 where not given.
        terms: What one word (see `tokens.words`) is indexed as.
        mask_references: Drop ``#12`` and the addresses of tickets, from texts and queries alike.

    Raises:
        InputError: fields of different lengths, unknown field names, values out of range.

    >>> index = BM25(["crash on empty query", "slow query", "crash in parseHeader"])
    >>> ids, scores = index.search(["crash in parse_header"], k=2)
    >>> ids.tolist()
    [[2, 0]]
    >>> index.search(["crash"], k=3, exclude=[0])[0].tolist()
    [[2, -1, -1]]
    """

    def __init__(
        self,
        texts: Sequence[str] | Mapping[str, Sequence[str]],
        *,
        k1: float = 1.2,
        b: float = 0.75,
        weights: Mapping[str, float] | None = None,
        terms: Callable[[str], Iterable[str]] = tokens.terms,
        mask_references: bool = False,
    ) -> None:
        if not (0 <= k1 < np.inf and 0 <= b <= 1):
            raise InputError(f"BM25: k1 is {k1} and b is {b}; expected k1 ≥ 0 and b from 0 to 1")
        fields = texts if isinstance(texts, Mapping) else {"text": texts}
        self._k1, self._b = float(k1), float(b)
        self._terms = terms
        self._mask_references = mask_references
        self._weights = _field_weights(fields, weights or {})
        self._size = len(next(iter(fields.values())))
        self._vocabulary: dict[str, int] = {}
        self._lengths = np.zeros((len(fields), self._size), dtype=np.int64)
        self._offsets, self._nodes, self._counts = self._build(fields)
        self._totals = self._lengths.sum(axis=1)
        self._length = self._weighted(self._lengths)

    def __len__(self) -> int:
        return self._size

    def search(
        self,
        queries: Sequence[str],
        k: int,
        *,
        exclude: npt.ArrayLike | None = None,
        visible: npt.NDArray[np.bool_] | None = None,
        mask: npt.NDArray[np.bool_] | None = None,
    ) -> tuple[Ids, Scores]:
        """The *k* best nodes for each query; ties: higher score first, then lower id.

        Only nodes that share a term with the query are returned.

        Args:
            queries: One string each.
            k: How many, ≥ 1.
            exclude: Node ids that do not exist for a query, ``[q]`` or ``[q, m]``, -1 for none:
                document counts and mean length leave them out, so the answer equals that of an
                index built without them.
            visible: ``[n]`` or ``[q, n]``, the nodes that exist for a query, in the same sense
                (all by default); for the past of a ticket.
            mask: ``[n]`` or ``[q, n]``, the nodes that may be returned; document counts and mean
                length still speak of all that exist. For "pull requests only".

        Returns:
            ids int32 ``[q, k]``, -1 past the end, and scores float32, nan past the end.

        Raises:
            InputError: *k* below 1, ids or shapes that do not fit.
        """
        if k < 1:
            raise InputError(f"BM25.search: k is {k}; expected 1 or more")
        absent = _excluded_ids(exclude, len(queries), self._size)
        exists = _bool_rows(visible, "visible", len(queries), self._size)
        allowed = _bool_rows(mask, "mask", len(queries), self._size)
        ids = np.full((len(queries), k), -1, dtype=np.int32)
        scores = np.full((len(queries), k), np.nan, dtype=np.float32)
        for row, query in enumerate(queries):
            found = self._score(query, absent(row), exists(row))
            may_return = allowed(row)
            if may_return is not None:
                found *= may_return
            best = _best(found, k)
            ids[row, : len(best)] = best
            scores[row, : len(best)] = found[best]
        return ids, scores

    def scores(
        self,
        query: str,
        *,
        exclude: Sequence[int] = (),
        visible: npt.NDArray[np.bool_] | None = None,
    ) -> npt.NDArray[np.float64]:
        """The score of every node ``[n]`` for one query; 0 where no term is shared.

        *exclude* and *visible* as in `search`; nodes that do not exist score 0.

        >>> BM25(["a b", "b c"]).scores("c").round(3).tolist()
        [0.0, 0.315]
        """
        absent = _excluded_ids([list(exclude)], 1, self._size)
        exists = _bool_rows(visible, "visible", 1, self._size)
        return self._score(query, absent(0), exists(0))

    def _score(self, query: str, absent: _Ints, exists: _Bools | None) -> _Floats:
        wanted = Counter(
            self._vocabulary[term]
            for word in tokens.words(self._unmasked(query))
            for term in self._terms(word)
            if term in self._vocabulary
        )
        if len(absent):
            exists = np.ones(self._size, dtype=np.bool_) if exists is None else exists.copy()
            exists[absent] = False
        # Lengths are summed as integers per field, so that leaving nodes out and never having
        # had them give the same mean to the last bit.
        if exists is None:
            size, totals = self._size, self._totals
        else:
            size, totals = int(exists.sum()), self._lengths @ exists
        total_length = float(self._weighted(totals))
        if not wanted or not total_length:
            return np.zeros(self._size)
        mean_length = total_length / size
        saturation = self._length * (self._k1 * self._b / mean_length) + self._k1 * (1 - self._b)

        nodes: list[npt.NDArray[np.int32]] = []
        shares: list[_Floats] = []
        for term, times in wanted.items():
            here = slice(self._offsets[term], self._offsets[term + 1])
            holders, counts = self._nodes[here], self._counts[here]
            if exists is not None:
                seen = exists[holders]
                holders, counts = holders[seen], counts[seen]
            df = len(holders)
            idf = np.log1p((size - df + 0.5) / (df + 0.5))
            share = counts / (counts + saturation[holders])
            share *= times * idf
            nodes.append(holders)
            shares.append(share)
        # bincount adds one by one in this order: the order of the query's terms.
        total = np.bincount(np.concatenate(nodes), np.concatenate(shares), self._size)
        return np.asarray(total, dtype=np.float64)

    def _weighted(self, lengths: _Ints) -> _Floats:
        """Weighted sum over the fields, one field after the other; a matrix product may add in an
        order that depends on the place of a node."""
        total = np.zeros(lengths.shape[1:])
        for weight, length in zip(self._weights, lengths, strict=True):
            total += weight * length
        return total

    def _unmasked(self, text: str) -> str:
        return tokens.mask_references(text) if self._mask_references else text

    def _build(
        self, fields: Mapping[str, Sequence[str]]
    ) -> tuple[_Ints, npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """Offsets per term, then nodes (ascending within a term) and weighted counts."""
        word_ids: defaultdict[str, int] = defaultdict()
        word_ids.default_factory = word_ids.__len__
        streams = []
        for texts in fields.values():
            lists = [tokens.words(self._unmasked(text)) for text in texts]
            sizes = np.fromiter(map(len, lists), np.int64, self._size)
            stream = np.fromiter(
                map(word_ids.__getitem__, chain.from_iterable(lists)), np.int64, sizes.sum()
            )
            streams.append((stream, np.repeat(np.arange(self._size), sizes)))

        term_ids: defaultdict[str, int] = defaultdict()
        term_ids.default_factory = term_ids.__len__
        of_word = [[term_ids[term] for term in self._terms(word)] for word in word_ids]
        self._vocabulary = dict(term_ids)
        breadth = np.fromiter(map(len, of_word), np.int64, len(of_word))
        starts = np.cumsum(breadth) - breadth
        flat = np.fromiter(chain.from_iterable(of_word), np.int64, breadth.sum())

        keys, counts = [], []
        for row, (stream, node) in enumerate(streams):
            wide = breadth[stream]
            node = np.repeat(node, wide)
            within = np.arange(len(node)) - np.repeat(np.cumsum(wide) - wide, wide)
            term = flat[np.repeat(starts[stream], wide) + within]
            self._lengths[row] = np.bincount(node, minlength=self._size)
            key, times = np.unique(term * self._size + node, return_counts=True)
            keys.append(key)
            counts.append(times * self._weights[row])
        key, where = np.unique(np.concatenate(keys), return_inverse=True)
        weighted = np.bincount(where, np.concatenate(counts), len(key))
        term, node = np.divmod(key, self._size) if self._size else (key, key)
        offsets = np.searchsorted(term, np.arange(len(term_ids) + 1))
        return offsets, node.astype(np.int32), weighted.astype(np.float32)


def _field_weights(fields: Mapping[str, Sequence[str]], weights: Mapping[str, float]) -> _Floats:
    if not fields:
        raise InputError("BM25: no field given; expected at least one")
    sizes = {name: len(texts) for name, texts in fields.items()}
    if len(set(sizes.values())) > 1:
        raise InputError(f"BM25: fields have different lengths: {sizes}; give one text per node")
    unknown = sorted(set(weights) - set(fields))
    if unknown:
        raise InputError(f"BM25: weights for unknown fields {unknown}; fields are {list(fields)}")
    values = np.array([weights.get(name, 1.0) for name in fields], dtype=np.float64)
    if not (np.isfinite(values) & (values > 0)).all():
        raise InputError(f"BM25: field weights are {values.tolist()}; expected finite, above 0")
    return values


def _excluded_ids(exclude: npt.ArrayLike | None, queries: int, size: int) -> Callable[[int], _Ints]:
    """The ids to leave out, by query."""
    if exclude is None:
        return lambda _row: np.empty(0, dtype=np.int64)
    table = np.asarray(exclude)
    if table.ndim == 1:
        table = table[:, np.newaxis]
    if table.ndim != 2 or len(table) != queries or (table.size and table.dtype.kind not in "iu"):
        raise InputError(
            f"BM25: exclude is {table.dtype} {np.shape(exclude)}; "
            f"expected integer ids [{queries}] or [{queries}, m]"
        )
    if table.size and not (table.min() >= -1 and table.max() < size):
        raise InputError(f"BM25: exclude holds ids outside -1 … {size - 1}")
    return lambda row: table[row][table[row] >= 0].astype(np.int64)


def _bool_rows(
    rows: npt.NDArray[np.bool_] | None, name: str, queries: int, size: int
) -> Callable[[int], _Bools | None]:
    """One row of flags for each query, or none at all."""
    if rows is None:
        return lambda _row: None
    table = np.asarray(rows)
    if table.dtype != np.bool_ or table.shape not in ((size,), (queries, size)):
        raise InputError(
            f"BM25: {name} is {table.dtype} {table.shape}; "
            f"expected bool [{size}] or [{queries}, {size}]"
        )
    return (lambda _row: table) if table.ndim == 1 else (lambda row: table[row])


def _best(scores: _Floats, k: int) -> _Ints:
    """Ids of the *k* highest positive scores, best first, lower id first among equals."""
    nodes = np.flatnonzero(scores > 0)
    if len(nodes) > k:
        values = scores[nodes]
        nodes = nodes[values >= np.partition(values, len(values) - k)[len(values) - k]]
    return nodes[np.argsort(-scores[nodes], kind="stable")][:k]
