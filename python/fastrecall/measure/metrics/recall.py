"""recall@k: how much of what there was to find was found?

    recall@k = gold items in the first k places / all gold items of the query

trec_eval ``recall_k``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fastrecall.measure.judgments import Found
from fastrecall.measure.metrics.family import Family


def _score(found: Found, cutoff: int | None) -> npt.NDArray[np.float64]:
    return found.per_query(found.within(cutoff)) / np.maximum(found.judgments.counts, 1)


RECALL = Family(
    "recall",
    _score,
    meaning="mean share of a query's right answers that are in {k}",
)
