"""The reasoning step: a language model judges the best candidates, rank fusion keeps the rest.

``score(c) = 1 / (k + hybrid rank) + weight / (k + reasoning rank)``, ranks from 1; the second term
is absent for a candidate that the model did not list. The model's order never replaces the hybrid
order: it prunes, and what it prunes would be lost. ``docs/reasoning.md`` has the measurements.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from fastrecall._term import progress
from fastrecall.config import ReasoningSettings
from fastrecall.embedding import cache_folder
from fastrecall.errors import InputError, RemoteError
from fastrecall.search.exchanges import AnswerCache, Recording, Replay
from fastrecall.search.fuse import rrf
from fastrecall.search.judge import SCHEMA, Candidate, judge_messages, prompt_hash, read_ranking
from fastrecall.search.llm import AnswerError, ChatClient, Exchange, Messages, Prices
from fastrecall.types import Ids

__all__ = [
    "Candidate",
    "Reasoner",
    "Reranked",
    "Tally",
    "chat_client",
    "fuse_reasoning",
    "reordered",
]

Fusion = Literal["weighted", "pure"]


@dataclass(frozen=True)
class Reranked:
    """One query's candidates in their new order.

    ``order`` holds positions in the candidates that were given, best first, cut as asked;
    ``scores`` are fused values that order this one list and mean nothing else.
    ``listed`` is what the model listed, in its order. When ``failure`` is set, ``order`` is the
    hybrid order.
    """

    order: tuple[int, ...]
    scores: tuple[float, ...]
    listed: tuple[int, ...]
    failure: str | None = None
    detail: str = ""
    attempts: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    cached: bool = False

    @property
    def failed(self) -> bool:
        """Whether the model's judgment is missing."""
        return self.failure is not None


@dataclass(frozen=True)
class Tally:
    """What a batch of calls came to; print it beside every result.

    >>> print(Tally.of([Reranked((0,), (0.1,), ()), Reranked((0,), (0.1,), (), failure="prose")]))
    reasoning: 1 of 2 calls failed (prose 1); 0 input and 0 output tokens
    """

    calls: int
    failures: dict[str, int]
    cached: int
    input_tokens: int
    output_tokens: int
    cost: float | None

    @classmethod
    def of(cls, results: Sequence[Reranked]) -> Tally:
        """Count a batch: tokens and cost of what was not cached, no cost when one is unknown."""
        counted = Counter(result.failure for result in results if result.failure is not None)
        paid = [result for result in results if not result.cached]
        costs = [result.cost for result in paid if result.cost is not None]
        return cls(
            calls=len(results),
            failures=dict(sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))),
            cached=sum(result.cached for result in results),
            input_tokens=sum(result.input_tokens for result in paid),
            output_tokens=sum(result.output_tokens for result in paid),
            cost=sum(costs) if len(costs) == len(paid) else None,
        )

    @property
    def failed(self) -> int:
        """Calls without a judgment."""
        return sum(self.failures.values())

    def __str__(self) -> str:
        reasons = ", ".join(f"{reason} {count}" for reason, count in self.failures.items())
        parts = [f"reasoning: {self.failed} of {self.calls} calls failed"]
        parts[0] += f" ({reasons})" if reasons else ""
        parts.append(f"{self.input_tokens:,} input and {self.output_tokens:,} output tokens")
        if self.cached:
            parts.append(f"{self.cached} from the cache")
        if self.cost:
            parts.append(f"${self.cost:.4f}")
        return "; ".join(parts)


def fuse_reasoning(
    count: int, listed: Sequence[int], *, weight: float, k: float, top: int
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Fuse the hybrid order 0 … *count* - 1 with the positions that the model listed.

    Ties go to the better hybrid rank. With ``k = 60`` and up to 25 candidates every listed one
    stands above every unlisted one from ``weight = 0.4`` on: then the worst listed score,
    ``1/85 + weight/84``, exceeds the best unlisted one, ``1/61``.

    >>> fuse_reasoning(4, [2, 0], weight=2.0, k=60, top=3)[0]
    (2, 0, 1)
    """
    ids, scores = rrf([list(range(count)), list(listed)], k=k, weights=[1.0, weight])
    return tuple(ids[:top].tolist()), tuple(scores[:top].tolist())


class Reasoner:
    """Re-ranks candidates as ``[search.reasoning]`` says.

    Args:
        settings: the section of the configuration; ``enabled`` is the caller's concern.
        fusion: ``weighted``, or ``pure`` to see what replacing the order costs: only what the model
            listed remains.
        on_error: ``keep`` gives the hybrid order for a call that failed, ``fail`` raises. Either
            way the failure is counted.
        concurrency: calls at the same time.
        cache: ``True`` for the usual folder, a folder, or ``False``.
        record: write the exchanges of this run to a file (see `save_recording`).
        replay: answer from such a file; no server is asked, no key is needed.
        prices: dollars per million tokens, for servers that do not report the cost.

    Raises:
        InputError: no model, an unknown provider, a missing key, a bad option or replay file.
    """

    def __init__(
        self,
        settings: ReasoningSettings,
        *,
        fusion: Fusion = "weighted",
        on_error: Literal["keep", "fail"] = "keep",
        concurrency: int = 4,
        cache: bool | Path = True,
        record: Path | None = None,
        replay: Path | None = None,
        prices: Prices | None = None,
    ) -> None:
        if fusion not in ("weighted", "pure"):
            raise InputError(f"fusion is {fusion!r}; expected 'weighted' or 'pure'")
        if on_error not in ("keep", "fail"):
            raise InputError(f"on_error is {on_error!r}; expected 'keep' or 'fail'")
        if concurrency < 1:
            raise InputError(f"concurrency is {concurrency}; expected 1 or more")
        self.settings = settings
        self.fusion = fusion
        self._on_error = on_error
        self._concurrency = concurrency
        self._replay = Replay(replay) if replay is not None else None
        self._recording = Recording(record) if record is not None else None
        self._client = None if replay is not None else chat_client(settings, prices)
        folder = cache_folder() / "answers" if isinstance(cache, bool) else cache
        self._cache = AnswerCache(folder) if cache is not False and replay is None else None

    def rerank(self, query: str, candidates: Sequence[Candidate]) -> Reranked:
        """Re-rank one query's candidates, given in hybrid order."""
        return self.rerank_many([(query, candidates)])[0]

    def rerank_many(
        self, questions: Sequence[tuple[str, Sequence[Candidate]]], *, top: int | None = None
    ) -> list[Reranked]:
        """Re-rank many queries, a few at a time; results in the order of *questions*.

        Each is cut to *top*, or to ``final_top_k`` of the settings.

        Raises:
            RemoteError: a call failed and ``on_error`` is ``fail``.
        """
        asked = [self._asked(query, candidates) for query, candidates in questions]
        answered = self._all(asked)
        results = []
        for (query, candidates), (_, shown, messages), (exchange, cached) in zip(
            questions, asked, answered, strict=True
        ):
            if self._recording is not None and shown:
                self._recording.add(query, prompt_hash(messages), exchange, cached=cached)
            result = self._result(
                len(candidates), len(shown), exchange, cached, top or self.settings.final_top_k
            )
            results.append(result)
        if self._recording is not None:
            self._recording.save()
        failed = next((place for place, result in enumerate(results) if result.failed), None)
        if failed is not None and self._on_error == "fail":
            result = results[failed]
            raise RemoteError(
                f"reasoning failed for {questions[failed][0]!r}: {result.failure} "
                f"({result.detail}); --on-rerank-error keep gives the hybrid order instead"
            )
        return results

    def close(self) -> None:
        """Close the connections to the server."""
        if self._client is not None:
            self._client.close()

    def _asked(
        self, query: str, candidates: Sequence[Candidate]
    ) -> tuple[str, list[Candidate], Messages]:
        shown = list(candidates[: self.settings.max_candidates])
        characters = self.settings.context_characters
        return query, shown, judge_messages(query, shown, characters=characters)

    def _all(
        self, asked: Sequence[tuple[str, list[Candidate], Messages]]
    ) -> list[tuple[Exchange, bool]]:
        if self._replay is not None:  # in order: a query asked twice has two lines
            return [self._exchange(*question) for question in asked]
        pool = ThreadPoolExecutor(self._concurrency, thread_name_prefix="reasoning")
        try:
            with progress("reasoning", len(asked)) as advance:
                answered = []
                for exchange in pool.map(lambda question: self._exchange(*question), asked):
                    answered.append(exchange)
                    advance(1)
                return answered
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _exchange(
        self, query: str, shown: Sequence[Candidate], messages: Messages
    ) -> tuple[Exchange, bool]:
        """The model's answer, and whether it came from the cache."""
        if not shown:
            return Exchange(None, attempts=0), False
        if self._replay is not None:
            return self._replay.take(query, prompt_hash(messages))
        assert self._client is not None
        key = self._client.request_hash(messages)
        if self._cache is not None and (kept := self._cache.get(key)) is not None:
            return kept, True
        exchange = self._client.ask(messages, SCHEMA, lambda text: read_ranking(text, len(shown)))
        if self._cache is not None:
            self._cache.put(key, exchange)
        return exchange, False

    def _result(
        self, count: int, shown: int, exchange: Exchange, cached: bool, top: int
    ) -> Reranked:
        listed: list[int] = []
        failure, detail = exchange.failure, exchange.detail
        if exchange.content is not None:
            try:
                listed = [number - 1 for number in read_ranking(exchange.content, shown)]
            except AnswerError as error:  # a replayed file may hold any answer
                failure, detail = error.reason, error.detail
        order, scores = self._fused(count, listed, top)
        return Reranked(
            order,
            scores,
            tuple(listed),
            failure,
            detail,
            exchange.attempts,
            exchange.input_tokens,
            exchange.output_tokens,
            exchange.cost,
            cached,
        )

    def _fused(
        self, count: int, listed: Sequence[int], top: int
    ) -> tuple[tuple[int, ...], tuple[float, ...]]:
        settings = self.settings
        if self.fusion == "pure" and listed:
            order = tuple(listed[:top])
            return order, tuple(1 / (settings.k + rank) for rank in range(1, len(order) + 1))
        return fuse_reasoning(
            count,
            listed,
            weight=settings.reasoning_weight,
            k=settings.k,
            top=top,
        )


def reordered(ids: Ids, reranked: Sequence[Reranked]) -> Ids:
    """Rankings ``[queries, width]`` in their new order, -1 past the end.

    >>> reordered(np.array([[7, 8, 9]], dtype=np.int32), [Reranked((2, 0), (0.1, 0.0), (2,))])
    array([[9, 7]], dtype=int32)
    """
    width = max((len(result.order) for result in reranked), default=0)
    new = np.full((len(ids), max(width, 1)), -1, dtype=np.int32)
    for row, (ranking, result) in enumerate(zip(ids, reranked, strict=True)):
        new[row, : len(result.order)] = ranking[list(result.order)]
    return new


def chat_client(settings: ReasoningSettings, prices: Prices | None = None) -> ChatClient:
    """The language model that the settings name.

    Raises:
        InputError: none is named, or as `ChatClient`.
    """
    if not settings.model:
        raise InputError(
            "no language model is set; set search.reasoning.model in the settings file to "
            "provider:model, such as 'ollama:qwen3:8b' (`fastrecall config init` writes the file)"
        )
    return ChatClient(
        settings.model,
        base_url=settings.base_url,
        temperature=settings.temperature,
        timeout=settings.timeout,
        retries=settings.retries,
        prices=prices,
    )
