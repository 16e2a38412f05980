"""precision@k: how much of what was returned was right?

    precision@k = gold items in the first k places / k

The divisor is k even where fewer were returned, as in trec_eval's ``P_k``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fastrecall.measure.judgments import Found
from fastrecall.measure.metrics.family import Family


def _score(found: Found, cutoff: int | None) -> npt.NDArray[np.float64]:
    assert cutoff is not None  # the family requires it
    return found.per_query(found.within(cutoff)) / cutoff


PRECISION = Family(
    "precision",
    _score,
    meaning="mean share of {k} that are right answers",
)
