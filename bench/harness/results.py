"""Measurements, the files they are kept in, and what follows from them.

A row of benchmarks is one JSON file: ``{"row", "quick", "provenance", "surroundings", "absent",
"measurements": [...]}``; the row `roof` has ``"roof"`` and ``"kernels"`` instead.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fastrecall._files import atomic_write

EXACT = 0.99995
"""Recall from which on an exact search counts as right."""


@dataclass(frozen=True)
class Measurement:
    """One line of the table.

    ``kind`` is ``faster``: `seconds` holds a time for each contender and round, and what counts is
    how many times faster `contender` is than the fastest of the others whose answers are right. Or
    it is ``at most``: `values` holds a figure for each round that must not exceed the goal.
    """

    work: str
    goal: float
    unit: str
    kind: str = "faster"
    contender: str = "fastrecall"
    threads: int = 1
    scale: float = 1.0  # seconds times this are shown in `unit`
    whole: bool = False  # rounds are parts of one piece of work, which add up
    seconds: dict[str, list[float]] = field(default_factory=dict)
    recall: dict[str, float] = field(default_factory=dict)
    enough: float = 0.0  # recall from which on answers are right
    values: list[float] = field(default_factory=list)
    bound: dict[str, float] = field(default_factory=dict)  # ops, bytes; see `roof_seconds`
    settings: dict[str, Any] = field(default_factory=dict)
    note: str = ""

    @property
    def key(self) -> tuple[str, int, str, str]:
        """What makes two measurements the same line of two tables."""
        return self.work, self.threads, self.contender, self.unit

    @property
    def right(self) -> bool:
        """Whether the contender's answers were good enough to be timed at all."""
        return self.recall.get(self.contender, 1.0) >= self.enough

    @property
    def best_peer(self) -> str | None:
        """The fastest of the others, if any gave right answers."""
        peers = [
            name
            for name in self.seconds
            if not name.startswith("fastrecall") and self.recall.get(name, 1.0) >= self.enough
        ]
        return min(peers, key=self.time_of, default=None)

    def time_of(self, name: str) -> float:
        """A contender's seconds: the median of its rounds, or their sum."""
        times = self.seconds[name]
        return sum(times) if self.whole else statistics.median(times)

    def ratios(self) -> list[float]:
        """The best peer's time over the contender's, round by round."""
        peer, ours = self.best_peer, self.seconds.get(self.contender)
        if peer is None or not ours:
            return []
        return [theirs / own for theirs, own in zip(self.seconds[peer], ours, strict=False)]

    def figures(self) -> list[float]:
        """What is compared with the goal, round by round."""
        return self.values if self.kind == "at most" else self.ratios()

    def interval(self) -> tuple[float, float, float]:
        """The figure that counts, and its 95 % interval (`median_interval`)."""
        middle, low, high = median_interval(self.figures())
        if self.whole and self.best_peer:  # parts differ: their sums are what counts
            middle = self.time_of(self.best_peer) / self.time_of(self.contender)
        return middle, low, high

    def verdict(self) -> str:
        """``yes`` or ``no`` when the whole interval says so, else ``within noise``."""
        if not self.right:
            return "no: wrong answers"
        if not self.figures():
            return "not measured"
        _, low, high = self.interval()
        good = [
            figure <= self.goal if self.kind == "at most" else figure >= self.goal
            for figure in (low, high)
        ]
        return {2: "yes", 1: "within noise", 0: "no"}[sum(good)]


def median_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """The median and its distribution-free 95 % interval; the whole range for few values.

    The interval is between the j-th lowest and the j-th highest value, with the largest j for
    which the chance that the true median lies outside is at most 5 % (binomial). From 9 values on
    that leaves out extremes; below 6 the range covers less than 95 %.

    >>> median_interval([3.0, 1.0, 2.0])
    (2.0, 1.0, 3.0)
    >>> median_interval([float(i) for i in range(9)])
    (4.0, 1.0, 7.0)
    """
    ordered = sorted(values)
    count, left_out, outside = len(ordered), 0, 0.0
    while left_out < (count - 1) // 2:
        outside += 2 * math.comb(count, left_out) / 2**count
        if outside + 2 * math.comb(count, left_out + 1) / 2**count > 0.05:
            break
        left_out += 1
    return statistics.median(ordered), ordered[left_out], ordered[count - 1 - left_out]


def save(path: Path, result: dict[str, Any]) -> None:
    """Write a row's file, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    measurements = [asdict(one) for one in result.get("measurements", [])]
    document = {**result, "measurements": measurements}
    with atomic_write(path) as file:
        file.write(json.dumps(_rounded(document), indent=1, ensure_ascii=False) + "\n")


def load(path: Path) -> dict[str, dict[str, Any]]:
    """Rows by name: of one file, or of all files in a folder."""
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    rows = {}
    for file in files:
        document = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(document, dict) or "row" not in document:
            continue  # other figures live in the same folder
        measurements = [Measurement(**one) for one in document["measurements"]]
        rows[document["row"]] = {**document, "measurements": measurements}
    return rows


def roof_seconds(measurement: Measurement, roof: dict[str, Any]) -> float | None:
    """The least time that the measured roof allows, or None where no bound was stated.

    Operations at the peak rate of the kind that the contender computes in, or bytes at the rate of
    reading memory (of the third-level cache when all of it fits there), whichever takes longer.
    """
    threads, bound = str(measurement.threads), measurement.bound
    times = []
    for kind, count in bound.items():
        if kind == "bytes":
            rates = roof.get("read 16 MiB" if count < 24e6 else "read 1024 MiB", {})
        else:
            rates = roof.get(kind, {})
        if threads in rates:
            times.append(count / (1e9 * rates[threads]))
    return max(times, default=None)


def _rounded(value: Any) -> Any:
    """Floats to six digits: more is noise, and files stay readable."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(one) for one in value]
    return value
