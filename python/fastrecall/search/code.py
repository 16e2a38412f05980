"""Search over code chunks: BM25 over fields, two vectors a chunk, and both kinds of evidence added.

Settings were chosen by cross-validation over queries; ``docs/code-search.md`` has the measurements
and the share of each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from fastrecall.corpus.code import CodeCorpus
from fastrecall.errors import CorpusError, InputError
from fastrecall.search.bm25 import BM25
from fastrecall.search.code_text import (
    chunk_text,
    fields,
    without_question_words,
)
from fastrecall.search.judge import Candidate
from fastrecall.types import Rankings, Vectors

CodeArm = Literal["bm25", "semantic", "hybrid"]
CODE_ARMS: tuple[CodeArm, ...] = ("bm25", "semantic", "hybrid")

Include = Literal["code", "all"]
"""``code``: chunks of programming languages; ``all``: also prose and configuration."""

_Floats: TypeAlias = npt.NDArray[np.float64]

_BLOCK = 64
"""Queries scored at once; bounds the memory, not the result."""


class Embed(Protocol):
    """Texts to vectors, as `fastrecall.embed` does it."""

    def __call__(self, texts: Sequence[str], *, kind: Literal["passage", "query"]) -> Vectors:
        """Unit vectors, one row a text."""


@dataclass(frozen=True)
class CodeSettings:
    """How code is scored.

    ``weights`` of the BM25 fields; ``lexical`` is the weight of the z-score of BM25 beside that of
    the cosine; ``summary`` that of the summary's vector beside the code's.
    """

    weights: Mapping[str, float] = field(
        default_factory=lambda: {"path": 3.0, "symbols": 6.0, "documentation": 2.0, "body": 1.0}
    )
    lexical: float = 0.9
    summary: float = 1.0


def candidate_ids(corpus: CodeCorpus, include: Include) -> npt.NDArray[np.int32]:
    """Which chunks of a corpus are candidates.

    Raises:
        InputError: an unknown *include*.
    """
    if include not in ("code", "all"):
        raise InputError(f"include is {include!r}; expected 'code' or 'all'")
    chosen = (at for at, chunk in enumerate(corpus.chunks) if include == "all" or chunk.is_code)
    return np.fromiter(chosen, dtype=np.int32)


class CodeIndex:
    """An index of a code corpus; ids are positions in ``corpus.chunks``.

    Make one with `build`.
    """

    def __init__(
        self,
        corpus: CodeCorpus,
        ids: npt.NDArray[np.int32],
        lexical: BM25,
        vectors: Vectors,
        embed: Embed,
        settings: CodeSettings,
    ) -> None:
        self.corpus = corpus
        self.settings = settings
        self._ids = ids
        self._lexical = lexical
        self._vectors = vectors
        self._embed = embed

    @classmethod
    def build(
        cls,
        corpus: CodeCorpus,
        embed: Embed,
        *,
        include: Include = "code",
        settings: CodeSettings | None = None,
        descriptions: Sequence[str] | None = None,
    ) -> CodeIndex:
        """Index a corpus.

        Args:
            corpus: from `load_code`.
            embed: texts to unit vectors; called with ``kind="passage"`` here and ``"query"`` in
                `search`.
            include: which chunks are candidates.
            settings: how evidence is weighted.
            descriptions: one line a chunk of the corpus, put before its text ahead of embedding.

        Raises:
            InputError: descriptions that do not fit, an unknown *include*.
            CorpusError: no chunk is left.
        """
        if descriptions is not None and len(descriptions) != len(corpus):
            raise InputError(
                f"{len(descriptions)} descriptions for {len(corpus)} chunks; give one each"
            )
        settings = settings or CodeSettings()
        ids = candidate_ids(corpus, include)
        if not len(ids):
            raise CorpusError(
                f"{corpus.name} has no file in a known programming language; "
                "search all of its text with include='all'"
            )
        texts = [chunk_text(corpus.chunks[at]) for at in ids]
        lines = [f"{descriptions[at]}\n" if descriptions else "" for at in ids]
        code = [line + text.head for line, text in zip(lines, texts, strict=True)]
        summaries = [line + text.summary for line, text in zip(lines, texts, strict=True)]
        vectors = embed([*code, *summaries], kind="passage")
        lexical = BM25(fields(texts), weights=settings.weights)
        # The dot product is linear: one mean vector gives the mean of both cosines.
        share = np.float32(settings.summary / (1 + settings.summary))
        mean = (1 - share) * vectors[: len(ids)] + share * vectors[len(ids) :]
        return cls(corpus, ids, lexical, mean, embed, settings)

    def __len__(self) -> int:
        """The number of candidates."""
        return len(self._ids)

    def search(
        self, queries: Sequence[str], k: int, *, arms: Sequence[CodeArm] = CODE_ARMS
    ) -> dict[CodeArm, Rankings]:
        """The *k* best chunks for each query and arm; ties: higher score first, then lower id.

        ``bm25`` returns only chunks that share a term with the query. ``hybrid`` adds the z-scores
        of both kinds of evidence over all candidates: unlike ranks, they keep how far ahead the
        best are.

        Raises:
            InputError: *k* below 1.
        """
        if k < 1:
            raise InputError(f"k is {k}; expected 1 or more")
        rows: dict[CodeArm, list[tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]]]
        rows = {arm: [] for arm in arms}
        for start in range(0, len(queries), _BLOCK):
            block = queries[start : start + _BLOCK]
            lexical = np.stack([self._lexical.scores(without_question_words(q)) for q in block])
            semantic = self._cosines(self._embed(block, kind="query"))
            for arm in arms:
                scores = _SCORES[arm](lexical, semantic, self.settings.lexical)
                rows[arm] += [self._best(row, k, only_positive=arm == "bm25") for row in scores]
        return {arm: _rankings(of_arm, k) for arm, of_arm in rows.items()}

    def candidates(self, ranking: npt.NDArray[np.int32]) -> list[Candidate]:
        """The chunks of one ranking as the reasoning step reads them."""
        chunks = (self.corpus.chunks[at] for at in ranking if at >= 0)
        return [Candidate(chunk.where, chunk.text, chunk.symbols) for chunk in chunks]

    def _cosines(self, queries: Vectors) -> _Floats:
        # In double precision the order of additions, which differs between thread counts, stays
        # below what the scores are rounded to.
        cosines: _Floats = queries.astype(np.float64) @ self._vectors.T.astype(np.float64)
        return cosines

    def _best(
        self, scores: _Floats, k: int, *, only_positive: bool
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        rounded = scores.astype(np.float32)
        order = np.argsort(-rounded, kind="stable")[:k]
        if only_positive:
            order = order[rounded[order] > 0]
        return self._ids[order], rounded[order]


def _z(scores: _Floats) -> _Floats:
    """Each row with mean 0 and deviation 1; a row without differences says nothing."""
    deviation = scores.std(axis=1, keepdims=True)
    centred = scores - scores.mean(axis=1, keepdims=True)
    deviation[deviation < 1e-9] = 1.0
    result: _Floats = centred / deviation
    return result


_SCORES: Mapping[CodeArm, Callable[[_Floats, _Floats, float], _Floats]] = {
    "bm25": lambda lexical, _semantic, _weight: lexical,
    "semantic": lambda _lexical, semantic, _weight: semantic,
    "hybrid": lambda lexical, semantic, weight: _z(semantic) + weight * _z(lexical),
}


def _rankings(
    rows: Sequence[tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]], k: int
) -> Rankings:
    ids = np.full((len(rows), k), -1, dtype=np.int32)
    scores = np.full((len(rows), k), np.nan, dtype=np.float32)
    for at, (row_ids, row_scores) in enumerate(rows):
        ids[at, : len(row_ids)] = row_ids
        scores[at, : len(row_ids)] = row_scores
    return Rankings(ids, scores)
