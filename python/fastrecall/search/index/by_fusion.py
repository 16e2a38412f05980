"""The arm `hybrid_causal`: for an index too large for `best`, and for notes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fastrecall._ragged import IdLists, flatten_lists
from fastrecall.graph import Graph
from fastrecall.search.arms import ARMS, Finder, Queries, Reach
from fastrecall.search.best_parts import Embedder
from fastrecall.search.bm25 import BM25, PostingLists, Vocabulary
from fastrecall.search.existing import Marked
from fastrecall.search.hnsw import HNSW
from fastrecall.search.index.place import FUSION_ARM
from fastrecall.search.index.ranking import MOST_ANSWERS, Found, Place
from fastrecall.search.memory import CosineSearch, Memory
from fastrecall.search.nearest import Nearest
from fastrecall.types import Ids, Scores, Vectors

_EF = 200
"""Candidates of an approximate walk: deep enough for lists of 100."""


@dataclass(frozen=True)
class StoredMemory(Memory):
    """A memory whose parts were made when the index was built; ``texts`` are not kept."""

    words: BM25 | None = None
    ann: HNSW | None = None

    @property
    def nearest(self) -> CosineSearch:
        """The approximate index when there is one, else the exact one."""
        return self.exact if self.ann is None else _Walked(self.ann)

    @cached_property
    def bm25(self) -> BM25:
        """The stored postings."""
        assert self.words is not None
        return self.words


@dataclass(frozen=True)
class _Walked:
    """Approximate search with the filters of the exact one."""

    index: HNSW

    def search(
        self,
        queries: npt.ArrayLike,
        k: int,
        *,
        exclude: IdLists | None = None,
        mask: npt.NDArray[np.bool_] | None = None,
    ) -> tuple[Ids, Scores]:
        rows = np.atleast_2d(np.asarray(queries))
        shown = np.ones((len(rows), len(self.index)), np.bool_)
        if mask is not None:
            shown &= mask
        if exclude is not None:
            offsets, absent = flatten_lists(exclude, queries=len(rows), name="exclude")
            shown[np.repeat(np.arange(len(rows)), np.diff(offsets)), absent] = False
        found = [
            self.index.search(query, k, ef=_EF, mask=None if visible.all() else visible)
            for query, visible in zip(rows, shown, strict=True)
        ]
        return np.concatenate([ids for ids, _ in found]), np.concatenate([s for _, s in found])


class ByFusion:
    """Ranks as the arm `hybrid_causal`: each node is followed by the PRs that close it."""

    def __init__(
        self,
        vectors: Vectors,
        lists: PostingLists,
        vocabulary: Vocabulary,
        *,
        is_pr: npt.NDArray[np.bool_],
        closes: Graph,
        ann: HNSW | None,
        embed: Embedder,
        threads: int | None,
    ) -> None:
        words = BM25.from_lists(lists, vocabulary, threads=threads)
        self.memory = StoredMemory((), vectors, is_pr, threads=threads, words=words, ann=ann)
        self._lists, self._vocabulary = lists, vocabulary
        self._closes, self._embed = closes, embed

    def rank(
        self,
        question: str,
        *,
        wanted: npt.NDArray[np.bool_],
        visible: npt.NDArray[np.bool_],
        without: int | None,
        k: int,
    ) -> Found:
        """As `Ranker.rank`; nodes that are not visible do not exist for the question."""
        if without is not None:
            visible = visible.copy()
            visible[without] = False
        [vector] = self._embed([question], "query")
        lists = fused(self.memory, self._closes, question, vector, visible)
        keep = np.flatnonzero(wanted[lists.ids] & visible[lists.ids])[:k]
        return Found(
            lists.ids[keep],
            lists.hybrid[lists.origins[keep] - 1],
            float(lists.cosines[0]) if len(lists.cosines) else 0.0,
            partial(_place, lists),
        )

    def similar(self, node: int, k: int) -> Ids:
        """As `Ranker.similar`."""
        ids, _ = self.memory.nearest.search(self.memory.vectors[node], k, exclude=[node])
        others: Ids = ids[0][ids[0] >= 0]
        return others

    def holders(self, name: str) -> Ids:
        """As `Ranker.holders`."""
        term = self._vocabulary.get(name)
        if term is None:
            return np.empty(0, np.int32)
        first, last = self._lists.offsets[term : term + 2]
        nodes: Ids = self._lists.nodes[first:last]
        return nodes


class Fused(NamedTuple):
    """One ranking of `FUSION_ARM`, and the lists it was made from: ids ``[found]`` by rank.

    ``origins`` are the ranks, from 1, of the seeds (in ``hybrid``) that led to each node.
    """

    ids: Ids
    origins: npt.NDArray[np.int32]
    hybrid: Ids
    semantic: Ids
    cosines: npt.NDArray[np.float32]
    bm25: Ids
    bm25_scores: npt.NDArray[np.float32]


def fused(
    memory: Memory,
    closes: Graph,
    question: str,
    vector: Vectors,
    visible: npt.NDArray[np.bool_] | None = None,
) -> Fused:
    """The ranking of the arm `FUSION_ARM` for one question, as an evaluation makes it.

    ``visible`` ``[n]`` marks the nodes that exist for it.
    """
    everything = visible is None or visible.all()
    queries = Queries(
        texts=(question,),
        nearest=Nearest(memory, vector[np.newaxis]),
        allowed=None if everything else Marked(visible[np.newaxis]),  # type: ignore[index]
    )
    finder = Finder(memory, closes, queries, Reach(budget=MOST_ANSWERS))
    [(_, rankings)] = finder.run(ARMS[FUSION_ARM])
    assert rankings.origins is not None
    lists = {name: finder.ranked(name) for name in ("hybrid", "semantic", "bm25")}
    ids = {name: one.ids[0][one.ids[0] >= 0] for name, one in lists.items()}
    scores = {name: one.scores[0] for name, one in lists.items() if one.scores is not None}
    there = rankings.ids[0] >= 0
    return Fused(
        rankings.ids[0][there],
        rankings.origins[0][there],
        ids["hybrid"],
        ids["semantic"],
        scores["semantic"][: len(ids["semantic"])],
        ids["bm25"],
        scores["bm25"][: len(ids["bm25"])],
    )


def _place(lists: Fused, node: int) -> Place:
    semantic, bm25 = _rank(lists.semantic, node), _rank(lists.bm25, node)
    return Place(
        semantic,
        None if semantic is None else round(float(lists.cosines[semantic - 1]), 4),
        bm25,
        None if bm25 is None else round(float(lists.bm25_scores[bm25 - 1]), 4),
    )


def _rank(ids: Ids, node: int) -> int | None:
    places = np.flatnonzero(ids == node)
    return int(places[0]) + 1 if len(places) else None
