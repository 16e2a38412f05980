"""What took how long: the only part of a record that differs from run to run."""

from __future__ import annotations

import time
from typing import Any


class Clock:
    """Laps of wall time, and milliseconds a query for each protocol and arm.

    >>> clock = Clock()
    >>> clock.lap("reading")
    >>> sorted(clock.as_dict())
    ['ms_per_query', 'seconds', 'total_seconds']
    """

    def __init__(self) -> None:
        self._start = self._last = time.perf_counter()
        self._laps: dict[str, float] = {}
        self._queries: dict[str, dict[str, float]] = {}

    def lap(self, name: str) -> None:
        """Book the time since the last lap under *name*."""
        now = time.perf_counter()
        self._laps[name] = now - self._last
        self._last = now

    def count_queries(self, protocol: str, seconds: dict[str, float], queries: int) -> None:
        """Book what each arm took for a batch of queries."""
        self._queries[protocol] = {arm: 1000 * s / queries for arm, s in seconds.items()}

    def as_dict(self) -> dict[str, Any]:
        """Plain values for the record."""
        return {
            "total_seconds": self._last - self._start,
            "seconds": self._laps,
            "ms_per_query": self._queries,
        }
