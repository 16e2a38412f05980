"""Okapi BM25 over texts with fields, exact under "this node does not exist for this query".

Why not bm25s: it stores finished scores, with document counts and mean length already inside, so a
node cannot be taken out for one query; it selects with argpartition, so ties are not ordered; and
its filter is one mask for a whole batch. Here the postings keep plain term counts, and the engine
works out per query what depends on the collection.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from fastrecall import _core
from fastrecall._ragged import IdLists, flatten_lists
from fastrecall._threads import resolve_threads
from fastrecall.errors import InputError
from fastrecall.search import tokens
from fastrecall.types import Ids, Scores

_Floats: TypeAlias = npt.NDArray[np.float64]
_Ints: TypeAlias = npt.NDArray[np.int64]
Terms: TypeAlias = Callable[[str], Iterable[str]]
"""What one word is indexed as."""


class Vocabulary(Protocol):
    """Terms and their numbers; a dict is one."""

    def get(self, term: str, /) -> int | None:
        """The number of a term, None when no text holds it."""


class PostingLists(NamedTuple):
    """All that is counted in the texts: what a `BM25` is made from, and what is kept on disk.

    ``offsets`` ``[terms + 1]`` into ``nodes`` (ascending within a term) and weighted ``counts``;
    ``lengths`` ``[fields, n]``, the number of terms of each text; ``weights`` of the fields.
    """

    offsets: _Ints
    nodes: Ids
    counts: npt.NDArray[np.float32]
    lengths: _Ints
    weights: _Floats


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
        threads: Threads that searches use; all usable cores when ``None``.

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
        terms: Terms = tokens.terms,
        mask_references: bool = False,
        threads: int | None = None,
    ) -> None:
        lists, vocabulary = posting_lists(
            texts, weights=weights, terms=terms, mask_references=mask_references
        )
        self._open(lists, vocabulary, k1, b, terms, mask_references, threads)

    @classmethod
    def from_lists(
        cls,
        lists: PostingLists,
        vocabulary: Vocabulary,
        *,
        k1: float = 1.2,
        b: float = 0.75,
        terms: Terms = tokens.terms,
        mask_references: bool = False,
        threads: int | None = None,
    ) -> BM25:
        """The index of what `posting_lists` counted, with the same *terms* and *mask_references*.

        >>> BM25.from_lists(*posting_lists(["a b", "b c"])).search(["c"], 1)[0].tolist()
        [[1]]
        """
        index = cls.__new__(cls)
        index._open(lists, vocabulary, k1, b, terms, mask_references, threads)
        return index

    def _open(
        self,
        lists: PostingLists,
        vocabulary: Vocabulary,
        k1: float,
        b: float,
        terms: Terms,
        mask_references: bool,
        threads: int | None,
    ) -> None:
        check_formula(k1, b)
        self.threads = resolve_threads(threads)
        self._terms = terms
        self._mask_references = mask_references
        self._vocabulary = vocabulary
        self._size: int = lists.lengths.shape[1]
        self._postings = _core.Postings(*lists, k1=k1, b=b)

    def __len__(self) -> int:
        return self._size

    def search(
        self,
        queries: Sequence[str],
        k: int,
        *,
        exclude: IdLists | None = None,
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
        offsets, terms, times = self._asked(queries)
        absent, absent_ids = None, None
        if exclude is not None:
            absent, absent_ids = flatten_lists(exclude, queries=len(queries), name="exclude")
        return self._postings.search(
            offsets,
            terms,
            times,
            k,
            exclude_offsets=absent,
            exclude_ids=absent_ids,
            visible=visible,
            mask=mask,
            threads=self.threads,
        )

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
        _, terms, times = self._asked([query])
        return self._postings.scores(
            terms, times, exclude_ids=np.asarray(exclude, dtype=np.int32), visible=visible
        )

    def _asked(self, queries: Sequence[str]) -> AskedTerms:
        return asked_terms(queries, self._vocabulary, self._terms, self._mask_references)


class AskedTerms(NamedTuple):
    """The index terms of some queries: query ``i`` asks for ``terms[offsets[i] : offsets[i + 1]]``,
    each as often as ``times`` says."""

    offsets: _Ints
    terms: Ids
    times: Ids


def asked_terms(
    queries: Sequence[str], vocabulary: Vocabulary, terms: Terms, mask_references: bool
) -> AskedTerms:
    """What queries ask for, in the order of their words; terms without a number are left out.

    >>> asked_terms(["b a b", "c"], {"a": 0, "b": 1}, tokens.terms, False)[1:]
    (array([1, 0], dtype=int32), array([2, 1], dtype=int32))
    """
    known: dict[str, list[int]] = {}
    offsets, ids, times = [0], list[int](), list[int]()
    for query in queries:
        wanted: dict[int, int] = {}
        for word in _words(query, mask_references):
            numbers = known.get(word)
            if numbers is None:
                found = map(vocabulary.get, terms(word))
                numbers = known[word] = [number for number in found if number is not None]
            for number in numbers:
                wanted[number] = wanted.get(number, 0) + 1
        ids += wanted
        times += wanted.values()
        offsets.append(len(ids))
    return AskedTerms(
        np.array(offsets, dtype=np.int64),
        np.array(ids, dtype=np.int32),
        np.array(times, dtype=np.int32),
    )


def check_formula(k1: float, b: float) -> None:
    """Refuse values that make no formula.

    Raises:
        InputError: out of range.
    """
    if not (0 <= k1 < np.inf and 0 <= b <= 1):
        raise InputError(f"BM25: k1 is {k1} and b is {b}; expected k1 ≥ 0 and b from 0 to 1")


def posting_lists(
    texts: Sequence[str] | Mapping[str, Sequence[str]],
    *,
    weights: Mapping[str, float] | None = None,
    terms: Terms = tokens.terms,
    mask_references: bool = False,
) -> tuple[PostingLists, dict[str, int]]:
    """Count the terms of all texts; returns the lists and the number of each term.

    Arguments and errors are those of `BM25`.

    >>> lists, vocabulary = posting_lists(["a b", "b c"])
    >>> vocabulary, lists.nodes.tolist()
    ({'a': 0, 'b': 1, 'c': 2}, [0, 0, 1, 1])
    """
    fields = texts if isinstance(texts, Mapping) else {"text": texts}
    weight_of_field = field_weights(fields, weights or {})
    size = len(next(iter(fields.values())))
    word_ids: defaultdict[str, int] = defaultdict()
    word_ids.default_factory = word_ids.__len__
    streams = []
    for field in fields.values():
        lists = [_words(text, mask_references) for text in field]
        sizes = np.fromiter(map(len, lists), np.int64, size)
        stream = np.fromiter(
            map(word_ids.__getitem__, chain.from_iterable(lists)), np.int64, sizes.sum()
        )
        streams.append((stream, np.repeat(np.arange(size), sizes)))

    term_ids: defaultdict[str, int] = defaultdict()
    term_ids.default_factory = term_ids.__len__
    of_word = [[term_ids[term] for term in terms(word)] for word in word_ids]
    breadth = np.fromiter(map(len, of_word), np.int64, len(of_word))
    starts = np.cumsum(breadth) - breadth
    flat = np.fromiter(chain.from_iterable(of_word), np.int64, breadth.sum())

    lengths = np.zeros((len(fields), size), dtype=np.int64)
    keys, counts = [], []
    for row, (stream, node) in enumerate(streams):
        wide = breadth[stream]
        node = np.repeat(node, wide)
        within = np.arange(len(node)) - np.repeat(np.cumsum(wide) - wide, wide)
        term = flat[np.repeat(starts[stream], wide) + within]
        lengths[row] = np.bincount(node, minlength=size)
        key, times = np.unique(term * size + node, return_counts=True)
        keys.append(key)
        counts.append(times * weight_of_field[row])
    key, where = np.unique(np.concatenate(keys), return_inverse=True)
    weighted = np.bincount(where, np.concatenate(counts), len(key))
    term, node = np.divmod(key, size) if size else (key, key)
    offsets = np.searchsorted(term, np.arange(len(term_ids) + 1))
    return PostingLists(
        offsets, node.astype(np.int32), weighted.astype(np.float32), lengths, weight_of_field
    ), dict(term_ids)


def _words(text: str, mask_references: bool) -> list[str]:
    return tokens.words(tokens.mask_references(text) if mask_references else text)


def field_weights(fields: Mapping[str, Sequence[str]], weights: Mapping[str, float]) -> _Floats:
    """The weight of each field.

    Raises:
        InputError: no field, fields of different lengths, or weights that do not fit.
    """
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
