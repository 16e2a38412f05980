"""Recall without a link of one's own: words, meaning and what tickets say of each other.

The evidence for every ticket is how near it is in meaning and in words; a PR is then as good as
its own evidence, or as that of the best ticket it is linked with, less a discount. Nothing is
fitted on gold. docs/best-arm.md tells what each part brings and what did not help.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from fastrecall.errors import InputError
from fastrecall.search import tokens
from fastrecall.search.bm25 import BM25
from fastrecall.search.mentions import find_mentions
from fastrecall.types import Corpus, Ids, Links, Scores, Vectors

TITLE_CHARACTERS = 120
BODY_CHARACTERS = 300
"""What is read of a ticket, as in the text of a node; more, in vectors of its own, adds nothing."""

QUERY_BODY_CHARACTERS = 900
"""What is read of a question's body: about what the embedded model reads before it cuts."""

TITLE_COUNTS = 2.0
"""A word of a title counts as two of the body: flat from 1 to 4."""

TITLE_WEIGHT = 0.5
"""The title asked alone, beside title and body together at 1: flat from 0.25 to 1."""

WORDS_WEIGHT = 0.6
"""Evidence of words beside evidence of meaning: flat from 0.3 to 1."""

LINK_DISCOUNT = 1.0
"""What a linked ticket's evidence loses on its way, in standard deviations: flat 0.5 to 1.5."""

_LEAST_SQUARE = 1e-6
"""Keeps a text that says no more than the mean PR from being divided by 0."""

_Floats: TypeAlias = npt.NDArray[np.float64]
_Bools: TypeAlias = npt.NDArray[np.bool_]


class Embedder(Protocol):
    """Texts to unit vectors ``[n, d]``; *kind* tells whether they are to be found or asked."""

    def __call__(self, texts: Sequence[str], kind: Literal["passage", "query"]) -> Vectors:
        """Embed *texts*."""


class Best:
    """Finds the PRs that answer a symptom; the arm ``best``.

    1. Texts lose all references to tickets. A ticket is title and body, embedded once; a question
       is asked as its title, and once more with its body if it has one.
    2. The mean PR is subtracted from every vector, and the direction from the mean PR to the mean
       issue is taken out: how a ticket is written is no evidence.
    3. Cosines and bm25 scores become standard scores within issues and within PRs, are added by
       fixed weights, and become standard scores again: the *evidence* for each ticket.
    4. A PR scores the larger of its own evidence and that of the best ticket linked with it less
       `LINK_DISCOUNT`: a similar issue's fix, a follow-up of a similar PR.

    All means, deviations and counts are those of the nodes that exist for a query.

    Args:
        titles: one a node.
        bodies: one a node.
        is_pr: ``[n]``, which nodes are PRs; only they are returned.
        links: node pairs ``[m, 2]``, in any order and direction.
        embed: turns texts into vectors.
        threads: as for `BM25`.

    Raises:
        InputError: arrays of different lengths, or links outside the nodes.

    >>> def letters(texts, kind):
    ...     counts = [[1.0 + text.lower().count(c) for c in "abcdefghijklmnopqrstuvwxyz"]
    ...               for text in texts]
    ...     return np.array(counts, np.float32) / np.linalg.norm(counts, axis=1)[:, None]
    >>> best = Best(
    ...     ["Crash on empty key", "Wrong colour", "Guard the parser", "Blue, not green"],
    ...     ["", "", "", ""],
    ...     is_pr=np.array([False, False, True, True]),
    ...     links=np.array([[0, 2], [1, 3]]),
    ...     embed=letters,
    ... )
    >>> best.search(["Crash when the key is empty"], 2)[0].tolist()
    [[2, 3]]
    """

    def __init__(
        self,
        titles: Sequence[str],
        bodies: Sequence[str],
        *,
        is_pr: npt.NDArray[np.bool_],
        links: npt.NDArray[np.integer],
        embed: Embedder,
        threads: int | None = None,
    ) -> None:
        if not len(titles) == len(bodies) == len(is_pr):
            raise InputError(
                f"Best: {len(titles)} titles, {len(bodies)} bodies, {len(is_pr)} kinds; "
                "expected one of each a node"
            )
        is_pr = np.asarray(is_pr, dtype=np.bool_)
        self._prs, self._issues = np.flatnonzero(is_pr), np.flatnonzero(~is_pr)
        self._embed = embed
        heads = [_cut(title, TITLE_CHARACTERS) for title in titles]
        rests = [_cut(body, BODY_CHARACTERS) for body in bodies]
        self._vectors = _checked(embed(list(map(_joined, heads, rests)), "passage"), len(heads))
        self._squares = np.einsum("nd,nd->n", self._vectors, self._vectors, dtype=np.float64)
        self._sums = [
            self._vectors[kind].sum(axis=0, dtype=np.float64) for kind in (self._prs, self._issues)
        ]
        self._words = BM25(
            {"title": heads, "body": rests},
            weights={"title": TITLE_COUNTS},
            terms=tokens.stems,
            threads=threads,
        )
        self._linked = _linked(np.asarray(links), is_pr)

    @classmethod
    def of_corpus(
        cls, corpus: Corpus, links: Links, *, embed: Embedder, threads: int | None = None
    ) -> Best:
        """The index of a corpus: closing links, and every mention of one ticket in another."""
        closing = np.stack([links.issues, links.prs], axis=1)
        return cls(
            [ticket.title for ticket in corpus.tickets],
            [ticket.body for ticket in corpus.tickets],
            is_pr=corpus.is_pr,
            links=np.concatenate([closing, find_mentions(corpus)]),
            embed=embed,
            threads=threads,
        )

    def __len__(self) -> int:
        return len(self._vectors)

    def search(
        self,
        queries: Sequence[str],
        k: int,
        *,
        exclude: npt.NDArray[np.integer] | Sequence[int] | None = None,
        visible: npt.NDArray[np.bool_] | None = None,
    ) -> tuple[Ids, Scores]:
        """The *k* best PRs for each query; ties: higher score first, then lower id.

        Args:
            queries: a title each, or a title, a line break and a body.
            k: how many, ≥ 1.
            exclude: ``[q]``, the node that does not exist for a query, -1 for none: neither it nor
                its links are seen.
            visible: ``[n]`` or ``[q, n]``, the nodes that exist (all by default).

        Returns:
            ids int32 ``[q, k]``, -1 past the end, and scores float32, nan past the end.

        Raises:
            InputError: *k* below 1, ids or shapes that do not fit.
        """
        if k < 1:
            raise InputError(f"Best.search: k is {k}; expected 1 or more")
        existing = self._existing(len(queries), exclude, visible)
        ids = np.full((len(queries), k), -1, dtype=np.int32)
        scores = np.full((len(queries), k), np.nan, dtype=np.float32)
        for row, question in enumerate(self._questions(queries)):
            evidence = self._evidence(question, existing(row))
            found = self._spread(evidence)[self._prs]
            best = np.argsort(-found, kind="stable")[:k]
            best = best[np.isfinite(found[best])]
            ids[row, : len(best)] = self._prs[best]
            scores[row, : len(best)] = found[best]
        return ids, scores

    def _existing(
        self,
        queries: int,
        exclude: npt.NDArray[np.integer] | Sequence[int] | None,
        visible: npt.NDArray[np.bool_] | None,
    ) -> Callable[[int], _Bools]:
        """Which nodes exist, ``[n]``, by query."""
        size = len(self)
        shown = np.asarray(True if visible is None else visible)
        if shown.dtype != np.bool_ or shown.shape not in ((), (size,), (queries, size)):
            raise InputError(
                f"Best: visible is {shown.dtype} {shown.shape}; "
                f"expected bool [{size}] or [{queries}, {size}]"
            )
        shown = np.broadcast_to(shown, (queries, size))
        gone = np.full(queries, -1) if exclude is None else np.asarray(exclude)
        if gone.shape != (queries,) or (queries and gone.dtype.kind not in "iu"):
            raise InputError(
                f"Best: exclude is {gone.dtype} {gone.shape}; expected integer ids [{queries}]"
            )
        if queries and not (gone.min() >= -1 and gone.max() < size):
            raise InputError(f"Best: exclude holds ids outside -1 … {size - 1}")

        def exists(row: int) -> _Bools:
            flags: _Bools = shown[row].copy()
            if gone[row] >= 0:
                flags[gone[row]] = False
            return flags

        return exists

    def _questions(self, queries: Sequence[str]) -> list[_Question]:
        """Texts and vectors of all queries, embedded in one go."""
        heads, wholes, asked = list[str](), list[str](), list[list[str]]()
        for query in queries:
            title, _, body = query.partition("\n")
            head, rest = _cut(title, TITLE_CHARACTERS), _cut(body, QUERY_BODY_CHARACTERS)
            heads.append(head)
            wholes.append(_joined(head, rest))
            # A question without a body is asked once, and so is one without a title.
            asked.append([head, wholes[-1]] if head.strip() and rest.strip() else [wholes[-1]])
        texts = list(dict.fromkeys(chain.from_iterable(asked)))
        row = {text: i for i, text in enumerate(texts)}
        vectors = _checked(self._embed(texts, "query"), len(texts))
        return [
            _Question(whole, vectors[[row[text] for text in texts_of]])
            for whole, texts_of in zip(wholes, asked, strict=True)
        ]

    def _evidence(self, question: _Question, exists: _Bools) -> _Floats:
        """How well each node that exists fits, in standard deviations; -inf elsewhere."""
        cosines = self._plain_cosines(question.vectors, exists)
        words = self._words.scores(question.text, visible=exists)
        evidence = np.full(len(self), -np.inf)
        for of_kind in (self._prs, self._issues):
            kind = of_kind[exists[of_kind]]
            meaning = _standard(cosines[-1][kind])
            if len(cosines) > 1:
                meaning += TITLE_WEIGHT * _standard(cosines[0][kind])
            evidence[kind] = _standard(meaning + WORDS_WEIGHT * _standard(words[kind]))
        return evidence

    def _plain_cosines(self, asked: Vectors, exists: _Bools) -> _Floats:
        """Cosines ``[vectors asked, n]`` without the mean PR and the way to the mean issue.

        Works on products with a few columns instead of changed vectors, for both depend on which
        nodes exist.
        """
        middle = self._mean(self._prs, exists)
        way = self._mean(self._issues, exists) - middle
        length = np.linalg.norm(way)
        if length > 0:
            way /= length
        plain = asked - middle
        plain -= np.outer(plain @ way, way)
        lengths = np.linalg.norm(plain, axis=1, keepdims=True)
        plain /= np.where(lengths > 0, lengths, 1)

        columns = np.concatenate([plain, [middle, way]])
        products = (self._vectors @ columns.astype(np.float32).T).T.astype(np.float64)
        dots = products[:-2] - (plain @ middle)[:, np.newaxis]
        along_way = products[-1] - way @ middle
        squares = self._squares - 2 * products[-2] + middle @ middle - along_way**2
        cosines: _Floats = dots / np.sqrt(np.maximum(squares, _LEAST_SQUARE))
        return cosines

    def _mean(self, of_kind: npt.NDArray[np.int64], exists: _Bools) -> _Floats:
        """The mean vector of those nodes of a kind that exist; 0 when there are none.

        Adds up the fewer of those that exist and those that do not.
        """
        there = exists[of_kind]
        count = int(there.sum())
        if not count:
            return np.zeros(self._vectors.shape[1])
        if 2 * count <= len(there):
            total = self._vectors[of_kind[there]].sum(axis=0, dtype=np.float64)
        else:
            whole = self._sums[0 if of_kind is self._prs else 1]
            total = whole - self._vectors[of_kind[~there]].sum(axis=0, dtype=np.float64)
        return np.asarray(total / count)

    def _spread(self, evidence: _Floats) -> _Floats:
        """Evidence, or that of the best linked node less the discount, whichever is more."""
        prs, starts, others = self._linked
        if not len(prs):
            return evidence
        lent = np.maximum.reduceat(evidence[others], starts) - LINK_DISCOUNT
        spread = evidence.copy()
        # A PR that does not exist stays out, whatever it is linked with.
        spread[prs] = np.where(np.isfinite(evidence[prs]), np.maximum(evidence[prs], lent), -np.inf)
        return spread


class _Question(NamedTuple):
    """A query: its text, and the vectors of its title and, if it has a body, of both together."""

    text: str
    vectors: Vectors


def _cut(text: str, characters: int) -> str:
    return tokens.mask_references(text)[:characters]


def _joined(head: str, rest: str) -> str:
    return f"{head}\n{rest}" if rest.strip() else head


def _checked(vectors: Vectors, count: int) -> Vectors:
    vectors = np.ascontiguousarray(vectors, dtype=np.float32)
    if vectors.ndim != 2 or len(vectors) != count:
        raise InputError(f"Best: the embedder gave {vectors.shape} for {count} texts")
    return vectors


def _linked(
    links: npt.NDArray[np.integer], is_pr: _Bools
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """PRs that have links, where each one's neighbours start, and the neighbours."""
    links = links.reshape(-1, 2).astype(np.int64)
    if links.size and not (links.min() >= 0 and links.max() < len(is_pr)):
        raise InputError(f"Best: links name nodes outside 0 … {len(is_pr) - 1}")
    both = np.unique(np.concatenate([links, links[:, ::-1]]), axis=0)
    both = both[is_pr[both[:, 0]] & (both[:, 0] != both[:, 1])]
    prs, starts = np.unique(both[:, 0], return_index=True)
    return prs, starts, both[:, 1]


def _standard(values: _Floats) -> _Floats:
    """Standard scores; all 0 where there is nothing to tell apart."""
    if not len(values):
        return values
    spread = values.std()
    return (values - values.mean()) / spread if spread > 0 else np.zeros_like(values)
