"""Recall without a link of one's own: words, meaning and what tickets say of each other.

The evidence for every ticket is how near it is in meaning and in words; a PR is then as good as
its own evidence, or as that of the best ticket it is linked with, less a discount. Nothing is
fitted on gold. docs/best-arm.md tells what each part brings and what did not help.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from fastrecall.errors import InputError
from fastrecall.search import tokens
from fastrecall.search.best_parts import (
    TITLE_CHARACTERS,
    BestParts,
    Embedder,
    best_parts,
    checked,
    cut,
    joined,
    prs_first,
)
from fastrecall.search.bm25 import BM25, Vocabulary
from fastrecall.search.evidence import Floats, Places, evidence_of, meaning_of
from fastrecall.search.lending import Lending, joined_links
from fastrecall.search.plain_cosines import PlainCosines
from fastrecall.types import Corpus, Ids, Links, Scores, Vectors

QUERY_BODY_CHARACTERS = 900
"""What is read of a question's body: about what the embedded model reads before it cuts."""

_PRODUCTS_AT_ONCE = 8_000_000
"""Products held at a time: 32 MB, and enough questions for the fastest multiplication."""

_SCORES_AT_ONCE = 65_536
"""Scores worked on at a time: few enough to stay in the cache from step to step."""

_Bools: TypeAlias = npt.NDArray[np.bool_]


class Weighed(NamedTuple):
    """What one question weighs, each ``[n]`` by node id.

    ``scores`` of PRs are those of `Best.search`; an issue counts what it lends, its ``evidence``
    less `LINK_DISCOUNT`. Both are -inf for the node that does not exist. ``lenders`` is the node
    whose evidence a PR scores by, -1 for its own. ``meaning`` are standard scores within issues and
    within PRs, ``words`` bm25 scores, ``cosines`` those of the vectors as they are.
    """

    scores: Floats
    evidence: Floats
    lenders: Places
    meaning: Floats
    words: Floats
    cosines: Floats


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
        parts, vocabulary = best_parts(titles, bodies, is_pr=is_pr, embed=embed)
        self._open(parts, vocabulary, is_pr, links, embed, threads)

    @classmethod
    def from_parts(
        cls,
        parts: BestParts,
        vocabulary: Vocabulary,
        *,
        is_pr: npt.NDArray[np.bool_],
        links: npt.NDArray[np.integer],
        embed: Embedder,
        threads: int | None = None,
    ) -> Best:
        """The index of what `best_parts` made of the same nodes; no text is read again.

        >>> ones = lambda texts, kind: np.ones((len(texts), 2), np.float32)
        >>> is_pr = np.array([False, True, True])
        >>> made = best_parts(["Crash", "Guard", "Bump"], [""] * 3, is_pr=is_pr, embed=ones)
        >>> index = Best.from_parts(*made, is_pr=is_pr, links=np.array([[0, 1]]), embed=ones)
        >>> index.search(["bump it"], 1)[0].tolist()
        [[2]]
        """
        index = cls.__new__(cls)
        index._open(parts, vocabulary, is_pr, links, embed, threads)
        return index

    def _open(
        self,
        parts: BestParts,
        vocabulary: Vocabulary,
        is_pr: npt.NDArray[np.bool_],
        links: npt.NDArray[np.integer],
        embed: Embedder,
        threads: int | None,
    ) -> None:
        is_pr = np.asarray(is_pr, dtype=np.bool_)
        # Inside, PRs come first: each kind is then one stretch of every array.
        self._order = prs_first(is_pr)
        self._place = np.argsort(self._order)
        self._prs = int(is_pr.sum())
        self._embed = embed
        self._known: dict[str, Vectors] = {}
        self._vectors = parts.vectors
        self._meaning = PlainCosines(parts.vectors, self._prs)
        self._words = BM25.from_lists(parts.lists, vocabulary, terms=tokens.stems, threads=threads)
        self._lending = Lending(self._place, np.asarray(links), self._prs)

    @classmethod
    def of_corpus(
        cls, corpus: Corpus, links: Links, *, embed: Embedder, threads: int | None = None
    ) -> Best:
        """The index of a corpus: closing links, and every mention of one ticket in another."""
        # Who opens stored parts does not need the room of corpora.
        from fastrecall.search.mentions import find_mentions

        return cls(
            [ticket.title for ticket in corpus.tickets],
            [ticket.body for ticket in corpus.tickets],
            is_pr=corpus.is_pr,
            links=joined_links(links.issues, links.prs, find_mentions(corpus)),
            embed=embed,
            threads=threads,
        )

    def __len__(self) -> int:
        return len(self._order)

    def prepare(self, queries: Sequence[str]) -> None:
        """Embed *queries* ahead, so that searching them is all that a search does."""
        for question in self._questions(queries):
            self._known.update(zip(question.asked, question.vectors, strict=True))

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
        gone = self._gone(len(queries), exclude)
        shown = self._shown(len(queries), visible)
        ids = np.full((len(queries), k), -1, dtype=np.int32)
        scores = np.full((len(queries), k), np.nan, dtype=np.float32)
        questions = self._questions(queries)
        if shown is None:
            found = self._found_without(questions, gone)
        else:
            found = self._found_among(questions, shown, gone)
        for row, of_row in found:
            best = _best(of_row, k)
            ids[row, : len(best)] = self._order[best]
            scores[row, : len(best)] = of_row[best]
        return ids, scores

    def weigh(self, query: str, *, exclude: int = -1) -> Weighed:
        """How well every node fits one question, and by what.

        Args:
            query: as for `search`.
            exclude: the node that does not exist, -1 for none.

        Raises:
            InputError: an id that does not fit.

        >>> titles = ["Crash", "Hang", "Leak", "Guard", "Bump"]
        >>> index = Best(
        ...     titles,
        ...     [""] * 5,
        ...     is_pr=np.arange(5) > 2,
        ...     links=np.array([[0, 3]]),
        ...     embed=lambda texts, kind: np.ones((len(texts), 2), np.float32),
        ... )
        >>> index.weigh("a crash").lenders.tolist()
        [-1, -1, -1, 0, -1]
        """
        [question] = self._questions([query])
        gone = self._gone(1, [exclude])
        asked = question.vectors[:, np.newaxis]
        products = self._meaning.products(asked, self._meaning.centres_without(gone))
        meaning = meaning_of(products.cosines(slice(1)), self._prs, gone)
        words = self._word_scores(question, gone[0])
        evidence = evidence_of(meaning.copy(), words[np.newaxis].copy(), self._prs, gone)
        scores = np.concatenate(
            [self._lending.scores(evidence)[0], self._lending.lent(evidence[0, self._prs :])]
        )
        lenders = self._lending.lenders(evidence[0], scores)
        return Weighed(
            scores[self._place],
            evidence[0, self._place],
            np.append(self._order, -1)[lenders][self._place],
            meaning[0, self._place],
            words[self._place],
            (self._vectors @ question.vectors[-1]).astype(np.float64)[self._place],
        )

    def _gone(
        self, queries: int, exclude: npt.NDArray[np.integer] | Sequence[int] | None
    ) -> Places:
        """The place of the node that does not exist, by query, -1 for none."""
        gone = np.full(queries, -1) if exclude is None else np.asarray(exclude)
        if gone.shape != (queries,) or (queries and gone.dtype.kind not in "iu"):
            raise InputError(
                f"Best: exclude is {gone.dtype} {gone.shape}; expected integer ids [{queries}]"
            )
        if queries and not (gone.min() >= -1 and gone.max() < len(self)):
            raise InputError(f"Best: exclude holds ids outside -1 … {len(self) - 1}")
        return np.append(self._place, -1)[gone.astype(np.int64)]

    def _shown(self, queries: int, visible: _Bools | None) -> _Bools | None:
        """Which nodes exist ``[q, n]``, by place; None for all."""
        if visible is None:
            return None
        shown, size = np.asarray(visible), len(self)
        if shown.dtype != np.bool_ or shown.shape not in ((size,), (queries, size)):
            raise InputError(
                f"Best: visible is {shown.dtype} {shown.shape}; "
                f"expected bool [{size}] or [{queries}, {size}]"
            )
        return np.broadcast_to(shown, (queries, size))[:, self._order]

    def _found_without(
        self, questions: Sequence[_Question], gone: Places
    ) -> Iterator[tuple[int, Floats]]:
        """Each row and the score of every PR, where all nodes but one exist."""
        for rows in self._blocks(questions):
            asked = np.stack([questions[row].vectors for row in rows], axis=1)
            products = self._meaning.products(asked, self._meaning.centres_without(gone[rows]))
            step = max(1, _SCORES_AT_ONCE // max(1, len(self)))
            for first in range(0, len(rows), step):
                some = slice(first, min(first + step, len(rows)))
                words = np.stack(
                    [self._word_scores(questions[row], gone[row]) for row in rows[some]]
                )
                meaning = meaning_of(products.cosines(some), self._prs, gone[rows[some]])
                evidence = evidence_of(meaning, words, self._prs, gone[rows[some]])
                yield from zip(rows[some].tolist(), self._lending.scores(evidence), strict=True)

    def _word_scores(self, question: _Question, gone: int) -> Floats:
        return self._words.scores(question.text, exclude=[gone] if gone >= 0 else [])

    def _blocks(self, questions: Sequence[_Question]) -> Iterator[Places]:
        """Rows of questions that are asked with equally many vectors, some at a time."""
        columns = np.array([len(question.vectors) for question in questions], dtype=np.int64)
        for count in np.unique(columns).tolist():
            rows = np.flatnonzero(columns == count)
            # Beside its own, a question needs a column or two for the nodes that exist.
            step = max(1, _PRODUCTS_AT_ONCE // max(1, (count + 2) * len(self)))
            for first in range(0, len(rows), step):
                yield rows[first : first + step]

    def _found_among(
        self, questions: Sequence[_Question], shown: _Bools, gone: Places
    ) -> Iterator[tuple[int, Floats]]:
        """Each row and the score of every PR, -inf for those that do not exist."""
        nobody = np.array([-1])
        for row, question in enumerate(questions):
            exists = shown[row].copy()
            if gone[row] >= 0:
                exists[gone[row]] = False
            there = np.flatnonzero(exists)
            centres = self._meaning.centres_of(exists)
            products = self._meaning.products(question.vectors[:, np.newaxis], centres)
            words = self._words.scores(question.text, visible=exists)[np.newaxis, there]
            prs = int(exists[: self._prs].sum())
            evidence = np.full((1, len(self)), -np.inf)
            meaning = meaning_of(products.cosines(slice(1), there), prs, nobody)
            evidence[:, there] = evidence_of(meaning, words, prs, nobody)
            yield row, self._lending.scores(evidence)[0]

    def _questions(self, queries: Sequence[str]) -> list[_Question]:
        """Texts and vectors of all queries; what is not known yet is embedded in one go."""
        wholes, asked = list[str](), list[list[str]]()
        for query in queries:
            title, _, body = query.partition("\n")
            head, rest = cut(title, TITLE_CHARACTERS), cut(body, QUERY_BODY_CHARACTERS)
            wholes.append(joined(head, rest))
            # A question without a body is asked once, and so is one without a title.
            asked.append([head, wholes[-1]] if head.strip() and rest.strip() else [wholes[-1]])
        new = [
            text for text in dict.fromkeys(chain.from_iterable(asked)) if text not in self._known
        ]
        vectors = checked(self._embed(new, "query"), len(new)) if new else ()
        known = self._known | dict(zip(new, vectors, strict=True))
        return [
            _Question(whole, texts, np.stack([known[text] for text in texts]))
            for whole, texts in zip(wholes, asked, strict=True)
        ]


class _Question(NamedTuple):
    """A query: its text, and what is embedded of it with the vectors ``[t, d]``.

    That is its title and, if it has a body, both together.
    """

    text: str
    asked: list[str]
    vectors: Vectors


def _best(scores: Floats, k: int) -> Places:
    """Places of the *k* best finite scores: higher first, then lower place."""
    if k < len(scores):
        least = np.partition(scores, len(scores) - k)[len(scores) - k]
        places = np.flatnonzero(scores >= least)
    else:
        places = np.arange(len(scores))
    places = places[np.argsort(-scores[places], kind="stable")[:k]]
    return places[np.isfinite(scores[places])]
