"""What a family of metrics is: a name, an arithmetic, and what the number tells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from fastrecall.measure.judgments import Found


@dataclass(frozen=True)
class Family:
    """All metrics of one name, such as ``hit@1``, ``hit@5``, …

    ``unit`` says what one score belongs to: a query, or a pair of a query and one gold item.
    ``share`` is true when every score is 0 or 1, so that the mean is a share with a Wilson
    interval. ``meaning`` is a sentence for readers with ``{k}`` for "the first k places".
    """

    name: str
    score: Callable[[Found, int | None], npt.NDArray[np.float64]]
    meaning: str
    cutoff: Literal["required", "optional"] = "required"
    unit: Literal["query", "pair"] = "query"
    share: bool = False

    @property
    def spelling(self) -> str:
        """How the metrics are written: ``hit@k``, or ``mrr[@k]`` where the cut is optional."""
        return f"{self.name}@k" if self.cutoff == "required" else f"{self.name}[@k]"
