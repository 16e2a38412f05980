"""hit@k: did the query find anything?

    hit@k = 1 if some gold item stands in the first k places, else 0

Known as Success@k (trec_eval ``success_k``).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fastrecall.measure.judgments import Found
from fastrecall.measure.metrics.family import Family


def _score(found: Found, cutoff: int | None) -> npt.NDArray[np.float64]:
    return (found.per_query(found.within(cutoff)) > 0).astype(np.float64)


HIT = Family(
    "hit",
    _score,
    meaning="share of queries with at least one right answer in {k}",
    share=True,
)
