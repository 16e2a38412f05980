"""Metrics as the textbooks print them: one query at a time, no numpy, no haste.

A ranking is a list of ids, best first; gold is ``{id: grade}``. A repeated id is credited at its
first place only. Without a cut the whole ranking counts.
"""

from __future__ import annotations

import math

Gold = dict[int, int]


def relevant(gold: Gold) -> Gold:
    return {item: grade for item, grade in gold.items() if grade > 0}


def credited(ranking: list[int], gold: Gold, k: int | None) -> list[tuple[int, int]]:
    """(rank from 1, grade) of each gold item in the first k places."""
    wanted = relevant(gold)
    seen = set()
    found = []
    for rank, item in enumerate(ranking[: k or len(ranking)], 1):
        if item in wanted and item not in seen:
            seen.add(item)
            found.append((rank, wanted[item]))
    return found


def hit(ranking: list[int], gold: Gold, k: int | None) -> float:
    return 1.0 if credited(ranking, gold, k) else 0.0


def recall(ranking: list[int], gold: Gold, k: int | None) -> float:
    wanted = relevant(gold)
    return len(credited(ranking, gold, k)) / len(wanted) if wanted else 0.0


def precision(ranking: list[int], gold: Gold, k: int) -> float:
    return len(credited(ranking, gold, k)) / k


def mrr(ranking: list[int], gold: Gold, k: int | None) -> float:
    found = credited(ranking, gold, k)
    return 1 / found[0][0] if found else 0.0


def average_precision(ranking: list[int], gold: Gold, k: int | None) -> float:
    wanted = relevant(gold)
    if not wanted:
        return 0.0
    found = credited(ranking, gold, k)
    return sum(so_far / rank for so_far, (rank, _) in enumerate(found, 1)) / len(wanted)


def ndcg(ranking: list[int], gold: Gold, k: int | None) -> float:
    ideal = sorted(relevant(gold).values(), reverse=True)[:k]
    best = sum(grade / math.log2(rank + 1) for rank, grade in enumerate(ideal, 1))
    dcg = sum(grade / math.log2(rank + 1) for rank, grade in credited(ranking, gold, k))
    return dcg / best if best else 0.0


def chain_hits(ranking: list[int], gold: Gold, k: int | None) -> dict[int, float]:
    """One score a gold item: was this very item in the first k places?"""
    places = ranking[: k or len(ranking)]
    return {item: float(item in places) for item in relevant(gold)}


BY_QUERY = {
    "hit": hit,
    "mrr": mrr,
    "ndcg": ndcg,
    "recall": recall,
    "precision": precision,
    "map": average_precision,
}
