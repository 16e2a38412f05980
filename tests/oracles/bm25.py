"""BM25 as the formula reads: dictionaries, one text at a time; the truth for the tests."""

from __future__ import annotations

import math
from collections import Counter


def score_all(
    fields: list[list[list[str]]],
    weights: list[float],
    query: list[str],
    *,
    k1: float,
    b: float,
    exists: list[bool] | None = None,
) -> list[float]:
    """The score of every text; ``fields[f][i]`` are the terms of field f of text i."""
    size = len(fields[0])
    exists = exists if exists is not None else [True] * size
    frequency: list[dict[str, float]] = []
    length: list[float] = []
    for i in range(size):
        counts: dict[str, float] = {}
        for field, weight in zip(fields, weights, strict=True):
            for term, times in Counter(field[i]).items():
                counts[term] = counts.get(term, 0.0) + weight * times
        frequency.append(counts)
        length.append(sum(w * len(field[i]) for field, w in zip(fields, weights, strict=True)))

    there = [i for i in range(size) if exists[i]]
    mean = sum(length[i] for i in there) / len(there) if there else 0.0
    result = [0.0] * size
    for term in query:
        df = sum(term in frequency[i] for i in there)
        idf = math.log(1 + (len(there) - df + 0.5) / (df + 0.5))
        for i in there:
            tf = frequency[i].get(term, 0.0)
            if tf:
                result[i] += idf * tf / (tf + k1 * (1 - b + b * length[i] / mean))
    return result


def ranking(scores: list[float], k: int, allowed: list[bool] | None = None) -> list[int]:
    """The k best of those above 0: higher score first, then lower id."""
    found = [i for i, s in enumerate(scores) if s > 0 and (allowed is None or allowed[i])]
    return sorted(found, key=lambda i: (-scores[i], i))[:k]
