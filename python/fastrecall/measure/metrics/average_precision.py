"""map, map@k: are all right answers near the top?

    average precision = sum over the gold items found of (gold items up to its rank / its rank)
                        / all gold items of the query

The mean over the queries is the MAP: Buckley and Voorhees 2005, in "TREC: Experiment and
Evaluation in Information Retrieval". trec_eval ``map`` and ``map_cut_k``: with a cut, only gold
items in the first k places add to the sum, and the divisor stays.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fastrecall.measure.judgments import Found
from fastrecall.measure.metrics.family import Family


def _score(found: Found, cutoff: int | None) -> npt.NDArray[np.float64]:
    inside = np.flatnonzero(found.within(cutoff))
    queries, ranks = found.judgments.queries[inside], found.ranks[inside]
    by_rank = np.lexsort((ranks, queries))
    queries, ranks = queries[by_rank], ranks[by_rank]
    # The first row of each query, repeated: the row number minus it counts the items so far.
    starts = np.searchsorted(queries, queries, side="left")
    so_far = np.arange(1, len(ranks) + 1) - starts
    sums = np.bincount(queries, weights=so_far / ranks, minlength=len(found.judgments))
    return sums / np.maximum(found.judgments.counts, 1)


MAP = Family(
    "map",
    _score,
    meaning="mean over all right answers of the share of right ones down to that place in {k}: "
    "1 means all of them on top",
    cutoff="optional",
)
