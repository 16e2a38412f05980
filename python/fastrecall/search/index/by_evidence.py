"""The arm `best` over a stored index, with issues among its answers."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from fastrecall.search import tokens
from fastrecall.search.best import Best, Weighed
from fastrecall.search.best_parts import TITLE_CHARACTERS, BestParts, Embedder, prs_first
from fastrecall.search.bm25 import Vocabulary
from fastrecall.search.index.ranking import Found, Place
from fastrecall.types import Ids


class ByEvidence:
    """Ranks PRs as `Best.search` does, and an issue by what it lends to the PRs it is linked with.

    So an issue like the question stands right before its fix, and pushes no PR down that has more
    evidence of its own. All nodes count for means and deviations, whatever may be an answer.
    """

    def __init__(
        self,
        parts: BestParts,
        vocabulary: Vocabulary,
        *,
        is_pr: npt.NDArray[np.bool_],
        links: Ids,
        embed: Embedder,
        threads: int | None,
    ) -> None:
        self.best = Best.from_parts(
            parts, vocabulary, is_pr=is_pr, links=links, embed=embed, threads=threads
        )
        self._parts, self._vocabulary, self._is_pr = parts, vocabulary, is_pr
        self._order = prs_first(is_pr)

    def rank(
        self,
        question: str,
        *,
        wanted: npt.NDArray[np.bool_],
        visible: npt.NDArray[np.bool_],
        without: int | None,
        k: int,
    ) -> Found:
        """As `Ranker.rank`."""
        weighed = self.best.weigh(asked_as(question), exclude=-1 if without is None else without)
        candidates = np.flatnonzero(wanted & np.isfinite(weighed.scores))
        ids = candidates[np.argsort(-weighed.scores[candidates], kind="stable")[:k]]
        lenders = weighed.lenders[ids]
        return Found(
            ids.astype(np.int32),
            np.where(lenders < 0, ids, lenders).astype(np.int32),
            float(weighed.cosines[visible].max(initial=-1.0)) if visible.any() else 0.0,
            partial(self._place, weighed),
        )

    def _place(self, weighed: Weighed, node: int) -> Place:
        """Ranks among the tickets of the node's kind."""
        kind = (self._is_pr == self._is_pr[node]) & np.isfinite(weighed.scores)
        holds = weighed.words[node] > 0
        return Place(
            _rank(weighed.meaning, node, kind),
            round(float(weighed.cosines[node]), 4),
            _rank(weighed.words, node, kind) if holds else None,
            round(float(weighed.words[node]), 4) if holds else None,
            round(float(weighed.evidence[node]), 4),
        )

    def similar(self, node: int, k: int) -> Ids:
        """As `Ranker.similar`."""
        vectors = self._parts.vectors
        [place] = np.flatnonzero(self._order == node)
        cosines = vectors @ vectors[place]
        cosines[place] = -np.inf
        ids: Ids = self._order[np.argsort(-cosines, kind="stable")[:k]].astype(np.int32)
        others: Ids = ids[ids != node]
        return others

    def holders(self, name: str) -> Ids:
        """As `Ranker.holders`; what shares the first six letters of a plain word counts."""
        term = self._vocabulary.get(next(iter(tokens.stems(name)), ""))
        if term is None:
            return np.empty(0, np.int32)
        first, last = self._parts.lists.offsets[term : term + 2]
        return self._order[self._parts.lists.nodes[first:last]].astype(np.int32)


def asked_as(question: str) -> str:
    """A question as `Best` reads it: what does not fit into a title goes on as a body.

    >>> asked_as("The parser crashes\\nsince Monday")
    'The parser crashes\\nsince Monday'
    >>> asked_as("word " * 40).index("\\n")
    119
    """
    question = question.strip()
    title, _, body = question.partition("\n")
    if len(title) <= TITLE_CHARACTERS:
        return question
    cut = title.rfind(" ", 1, TITLE_CHARACTERS + 1)
    cut = TITLE_CHARACTERS if cut < 0 else cut
    return f"{title[:cut]}\n{title[cut:].lstrip()}\n{body}".rstrip()


def _rank(values: npt.NDArray[np.float64], node: int, among: npt.NDArray[np.bool_]) -> int:
    """The rank of a node, from 1; equals come in node order."""
    mine = values[node]
    before = np.count_nonzero(among & (values > mine))
    equal_before = np.count_nonzero(among[:node] & (values[:node] == mine))
    return int(1 + before + equal_before)
