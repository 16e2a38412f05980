"""mrr, mrr@k: how far down is the first right answer?

    reciprocal rank = 1 / rank of the first gold item, 0 when there is none (in the first k places)

The mean over the queries is the MRR: Voorhees 1999, TREC-8 Question Answering Track. trec_eval
``recip_rank``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fastrecall.measure.judgments import Found
from fastrecall.measure.metrics.family import Family


def _score(found: Found, cutoff: int | None) -> npt.NDArray[np.float64]:
    inside = found.within(cutoff)
    best = np.zeros(len(found.judgments))
    np.maximum.at(best, found.judgments.queries[inside], 1 / found.ranks[inside])
    return best


MRR = Family(
    "mrr",
    _score,
    meaning="mean of 1 / (rank of the first right answer), 0 when none is in {k}: "
    "1 means always on top, 0.5 is the worth of a second place",
    cutoff="optional",
)
