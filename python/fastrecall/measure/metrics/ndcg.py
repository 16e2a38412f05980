"""ndcg, ndcg@k: are the better answers above the good ones?

    DCG  = sum over the gold items found of grade / log2(rank + 1)
    nDCG = DCG / DCG of the ideal ranking, which has all gold items on top, best grade first

The gain is the grade itself, as in trec_eval's ``ndcg`` and ``ndcg_cut_k`` and in Järvelin and
Kekäläinen 2002, ACM TOIS 20:422-446 (not 2**grade - 1). With a cut both sums stop at rank k.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fastrecall.measure.judgments import Found
from fastrecall.measure.metrics.family import Family


def _score(found: Found, cutoff: int | None) -> npt.NDArray[np.float64]:
    gold = found.judgments
    # The rows of a query are sorted by grade, so their own order is the ideal ranking.
    ideal_ranks = np.arange(1, len(gold.ids) + 1) - gold.offsets[gold.queries]
    ideal = found.per_query(_gains(gold.grades, ideal_ranks, cutoff))
    gained = found.per_query(_gains(gold.grades, found.ranks, cutoff))
    return gained / np.where(ideal > 0, ideal, 1.0)


def _gains(
    grades: npt.NDArray[np.int32], ranks: npt.NDArray[np.int64], cutoff: int | None
) -> npt.NDArray[np.float64]:
    """Discounted gain of each item; 0 where the rank is 0 (absent) or past the cut."""
    counted = (ranks > 0) & (True if cutoff is None else ranks <= cutoff)
    return np.where(counted, grades / np.log2(np.maximum(ranks, 1) + 1), 0.0)


NDCG = Family(
    "ndcg",
    _score,
    meaning="how near the order of {k} comes to the best possible one, grades counted: "
    "1 means perfect",
    cutoff="optional",
)
