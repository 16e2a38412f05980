"""Geometry of the page's charts: numbers in, coordinates out; the templates draw them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SERIES = ("semantic", "semantic_prs", "causal", "hybrid_causal", "best")
"""The arms that have a colour of their own, the same in every chart."""


@dataclass(frozen=True)
class Frame:
    """The inside of a chart: ``left``, ``top``, ``width``, ``height`` in the units of its box."""

    left: float
    top: float
    width: float
    height: float

    def x(self, budget: float, deepest: int) -> float:
        """Where a budget stands on the logarithmic axis from 1 to *deepest*."""
        if deepest <= 1:
            return self.left
        return self.left + self.width * math.log(budget) / math.log(deepest)

    def y(self, share: float) -> float:
        """Where a share stands: 1 on top, 0 at the bottom."""
        return self.top + self.height * (1 - share)


@dataclass(frozen=True)
class Curve:
    """One arm's line: a path, where it stands at the budget, and its values in numbers."""

    key: str
    title: str
    path: str
    at_budget: float
    y_at_budget: float
    told: tuple[float, ...]


@dataclass(frozen=True)
class CurveChart:
    """Hit rate by budget for some arms of one protocol."""

    frame: Frame
    curves: tuple[Curve, ...]
    budgets: tuple[tuple[int, float], ...]
    """Budgets of the axis, where curves are also told in numbers, each with its x."""
    shares: tuple[tuple[int, float], ...]
    """Per cents of the axis, each with its y."""
    budget: int
    x_budget: float
    hits_at: dict[str, list[float]]
    """The share at every budget, for the chart's own reading aid under the pointer."""


def curve_chart(arms: Mapping[str, Mapping[str, Any]], *, budget: int) -> CurveChart | None:
    """The chart of the arms in `SERIES` (of all, if none of those ran); None without any curve.

    >>> arm = {"title": "causal", "pairs": 4, "hits_at": [1, 2]}
    >>> chart = curve_chart({"causal": arm}, budget=2)
    >>> chart.curves[0].told, chart.budgets
    ((0.25, 0.5), ((1, 38.0), (2, 408.0)))
    """
    curved = {key: arm for key, arm in arms.items() if arm.get("hits_at") and arm["pairs"]}
    shown = [key for key in SERIES if key in curved] or list(curved)
    if not shown:
        return None
    deepest = min(len(curved[key]["hits_at"]) for key in shown)
    frame = Frame(38, 12, 370, 200)
    budgets = [1 << power for power in range(deepest.bit_length())]
    shares = {key: _shares(curved[key], deepest) for key in shown}
    marked = min(budget, deepest)
    curves = tuple(
        Curve(
            key=key,
            title=curved[key]["title"],
            path=_path(frame, shares[key]),
            at_budget=shares[key][marked - 1],
            y_at_budget=frame.y(shares[key][marked - 1]),
            told=tuple(shares[key][b - 1] for b in budgets),
        )
        for key in shown
    )
    return CurveChart(
        frame=frame,
        curves=curves,
        budgets=tuple((b, frame.x(b, deepest)) for b in budgets),
        shares=tuple((share, frame.y(share / 100)) for share in (0, 25, 50, 75, 100)),
        budget=marked,
        x_budget=frame.x(marked, deepest),
        hits_at={curve.title: [round(share, 4) for share in shares[curve.key]] for curve in curves},
    )


def _shares(arm: Mapping[str, Any], deepest: int) -> list[float]:
    return [hits / arm["pairs"] for hits in arm["hits_at"][:deepest]]


def _path(frame: Frame, shares: Sequence[float]) -> str:
    points = (
        f"{frame.x(budget, len(shares)):.1f} {frame.y(share):.1f}"
        for budget, share in enumerate(shares, start=1)
    )
    return "M" + " L".join(points)
