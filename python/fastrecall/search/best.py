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
from fastrecall.search.plain_cosines import PlainCosines
from fastrecall.types import Corpus, Ids, Links, Scores, Vectors

QUERY_BODY_CHARACTERS = 900
"""What is read of a question's body: about what the embedded model reads before it cuts."""

TITLE_WEIGHT = 0.5
"""The title asked alone, beside title and body together at 1: flat from 0.25 to 1."""

WORDS_WEIGHT = 0.6
"""Evidence of words beside evidence of meaning: flat from 0.3 to 1."""

LINK_DISCOUNT = 1.0
"""What a linked ticket's evidence loses on its way, in standard deviations: flat 0.5 to 1.5."""

_LEAST_DEVIATION = 1e-4
"""Where nodes differ by less they are alike, and the difference is rounding."""

_PRODUCTS_AT_ONCE = 8_000_000
"""Products held at a time: 32 MB, and enough questions for the fastest multiplication."""

_SCORES_AT_ONCE = 65_536
"""Scores worked on at a time: few enough to stay in the cache from step to step."""

_Floats: TypeAlias = npt.NDArray[np.float64]
_Bools: TypeAlias = npt.NDArray[np.bool_]
_Places: TypeAlias = npt.NDArray[np.int64]


class Weighed(NamedTuple):
    """What one question weighs, each ``[n]`` by node id.

    ``scores`` of PRs are those of `Best.search`; an issue counts what it lends, its ``evidence``
    less `LINK_DISCOUNT`. Both are -inf for the node that does not exist. ``lenders`` is the node
    whose evidence a PR scores by, -1 for its own. ``meaning`` are standard scores within issues and
    within PRs, ``words`` bm25 scores, ``cosines`` those of the vectors as they are.
    """

    scores: _Floats
    evidence: _Floats
    lenders: _Places
    meaning: _Floats
    words: _Floats
    cosines: _Floats


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
        self._linked = _linked(self._place, np.asarray(links), self._prs)

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
        meaning = _meaning(products.cosines(slice(1)), self._prs, gone)
        words = self._word_scores(question, gone[0])
        evidence = _evidence(meaning.copy(), words[np.newaxis].copy(), self._prs, gone)
        scores = np.concatenate(
            [self._spread(evidence)[0], evidence[0, self._prs :] - LINK_DISCOUNT]
        )
        lenders = self._lenders(evidence[0], scores)
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
    ) -> _Places:
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
        self, questions: Sequence[_Question], gone: _Places
    ) -> Iterator[tuple[int, _Floats]]:
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
                meaning = _meaning(products.cosines(some), self._prs, gone[rows[some]])
                evidence = _evidence(meaning, words, self._prs, gone[rows[some]])
                yield from zip(rows[some].tolist(), self._spread(evidence), strict=True)

    def _word_scores(self, question: _Question, gone: int) -> _Floats:
        return self._words.scores(question.text, exclude=[gone] if gone >= 0 else [])

    def _blocks(self, questions: Sequence[_Question]) -> Iterator[_Places]:
        """Rows of questions that are asked with equally many vectors, some at a time."""
        columns = np.array([len(question.vectors) for question in questions], dtype=np.int64)
        for count in np.unique(columns).tolist():
            rows = np.flatnonzero(columns == count)
            # Beside its own, a question needs a column or two for the nodes that exist.
            step = max(1, _PRODUCTS_AT_ONCE // max(1, (count + 2) * len(self)))
            for first in range(0, len(rows), step):
                yield rows[first : first + step]

    def _found_among(
        self, questions: Sequence[_Question], shown: _Bools, gone: _Places
    ) -> Iterator[tuple[int, _Floats]]:
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
            meaning = _meaning(products.cosines(slice(1), there), prs, nobody)
            evidence[:, there] = _evidence(meaning, words, prs, nobody)
            yield row, self._spread(evidence)[0]

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

    def _spread(self, evidence: _Floats) -> _Floats:
        """For each PR its evidence, or that of the best linked node less the discount."""
        prs, starts, others = self._linked
        found = evidence[:, : self._prs].copy()
        if len(prs):
            # "clip" spares the check of every id, which takes longer than the reading.
            lenders = np.take(evidence, others, axis=1, mode="clip")
            lent = np.maximum.reduceat(lenders, starts, axis=1) - LINK_DISCOUNT
            own = found[:, prs]
            # A PR that does not exist stays out, whatever it is linked with.
            found[:, prs] = np.where(np.isfinite(own), np.maximum(own, lent), -np.inf)
        return found

    def _lenders(self, evidence: _Floats, scores: _Floats) -> _Places:
        """The place whose evidence each place scores by, -1 for its own: the first of equals."""
        prs, starts, others = self._linked
        borrowers = np.repeat(prs, np.diff(np.append(starts, len(others))))
        lends = evidence[others] - LINK_DISCOUNT == scores[borrowers]
        lends &= scores[borrowers] > evidence[borrowers]
        lenders = np.full(len(self), -1)
        first_last = np.flatnonzero(lends)[::-1]
        lenders[borrowers[first_last]] = others[first_last]
        return lenders


def joined_links(issues: Ids, prs: Ids, mentions: Ids) -> Ids:
    """Closing links and mentions ``[m, 2]`` as the pairs that `Best` takes.

    >>> joined_links(np.array([0]), np.array([2]), np.array([[1, 2]])).tolist()
    [[0, 2], [1, 2]]
    """
    return np.concatenate([np.stack([issues, prs], axis=1), mentions])


class _Question(NamedTuple):
    """A query: its text, and what is embedded of it with the vectors ``[t, d]``.

    That is its title and, if it has a body, both together.
    """

    text: str
    asked: list[str]
    vectors: Vectors


def _linked(
    place: _Places, links: npt.NDArray[np.integer], prs: int
) -> tuple[_Places, _Places, _Places]:
    """Places of PRs that have links, where each one's neighbours start, and the neighbours."""
    links = links.reshape(-1, 2)
    if links.size and not (links.min() >= 0 and links.max() < len(place)):
        raise InputError(f"Best: links name nodes outside 0 … {len(place) - 1}")
    pairs = place[links.astype(np.int64)]
    both = np.concatenate([pairs, pairs[:, ::-1]])
    both = both[(both[:, 0] < prs) & (both[:, 0] != both[:, 1])]
    # One number a pair: sorted ten times faster than rows are.
    keys = np.unique(both[:, 0] * len(place) + both[:, 1])
    borrowers, lenders = np.divmod(keys, max(1, len(place)))
    linked, starts = np.unique(borrowers, return_index=True)
    return linked, starts, lenders


def _meaning(cosines: _Floats, prs: int, gone: _Places) -> _Floats:
    """How near in meaning each node is ``[q, n]``, from *cosines* ``[t, q, n]``, overwritten.

    Of the nodes the first *prs* are PRs; *gone* ``[q]`` do not exist.
    """
    meaning: _Floats = cosines[-1]
    for kind, missing in _kinds(cosines.shape[2], prs, gone):
        for scores in cosines[:, :, kind]:
            _standardize(scores, missing)
        if len(cosines) > 1:
            meaning[:, kind] += TITLE_WEIGHT * cosines[0][:, kind]
    return meaning


def _evidence(meaning: _Floats, words: _Floats, prs: int, gone: _Places) -> _Floats:
    """How well each node fits ``[q, n]``, in standard deviations; -inf for the node that is gone.

    *meaning* and *words* ``[q, n]`` are overwritten.
    """
    for kind, missing in _kinds(meaning.shape[1], prs, gone):
        _standardize(words[:, kind], missing)
        meaning[:, kind] += WORDS_WEIGHT * words[:, kind]
        _standardize(meaning[:, kind], missing)
    rows = np.flatnonzero(gone >= 0)
    meaning[rows, gone[rows]] = -np.inf
    return meaning


def _kinds(nodes: int, prs: int, gone: _Places) -> Iterator[tuple[slice, tuple[_Places, _Places]]]:
    """Where PRs and issues lie, with the rows and columns in there that do not count."""
    for kind in (slice(0, prs), slice(prs, nodes)):
        inside = np.flatnonzero((gone >= kind.start) & (gone < kind.stop))
        yield kind, (inside, gone[inside] - kind.start)


def _standardize(values: _Floats, missing: tuple[_Places, _Places]) -> None:
    """Make each row standard scores, in place; all 0 where there is nothing to tell apart.

    *missing* are the rows and columns of values that do not count.
    """
    counts = np.full(len(values), values.shape[1])
    counts[missing[0]] -= 1
    counts = np.maximum(counts, 1)
    totals = values.sum(axis=1)
    totals[missing[0]] -= values[missing]
    values -= (totals / counts)[:, np.newaxis]
    squares = np.einsum("qn,qn->q", values, values)
    squares[missing[0]] -= values[missing] ** 2
    deviations = np.sqrt(np.maximum(squares, 0) / counts)
    known = deviations > _LEAST_DEVIATION
    values *= np.divide(1, deviations, out=np.zeros_like(deviations), where=known)[:, np.newaxis]


def _best(scores: _Floats, k: int) -> _Places:
    """Places of the *k* best finite scores: higher first, then lower place."""
    if k < len(scores):
        least = np.partition(scores, len(scores) - k)[len(scores) - k]
        places = np.flatnonzero(scores >= least)
    else:
        places = np.arange(len(scores))
    places = places[np.argsort(-scores[places], kind="stable")[:k]]
    return places[np.isfinite(scores[places])]
