"""chain_hit@k: was this very answer found? The article's "chain-hit", one score a pair.

    chain_hit@k of (query, gold item) = 1 if the item stands in the first k places, else 0

A query with three gold items has three pairs, so it weighs three times in the mean; see hit@k and
recall@k for metrics that give each query the same weight.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fastrecall.measure.judgments import Found
from fastrecall.measure.metrics.family import Family


def _score(found: Found, cutoff: int | None) -> npt.NDArray[np.float64]:
    return found.within(cutoff).astype(np.float64)


CHAIN_HIT = Family(
    "chain_hit",
    _score,
    meaning="share of (issue, fixing change) pairs whose change is in {k}",
    unit="pair",
    share=True,
)
