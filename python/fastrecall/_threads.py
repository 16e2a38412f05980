"""How many cores this process may really use."""

from __future__ import annotations

import math
import os
from pathlib import Path

from fastrecall.errors import InputError

_CGROUP_V2 = Path("/sys/fs/cgroup/cpu.max")
_CGROUP_V1 = Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")


def usable_cores() -> int:
    """Cores left by CPU affinity and by the container's quota, at least 1.

    >>> usable_cores() >= 1
    True
    """
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:  # macOS, Windows
        cores = os.cpu_count() or 1
    quota = _cgroup_quota()
    return max(1, cores if quota is None else min(cores, math.ceil(quota)))


def resolve_threads(threads: int | None) -> int:
    """The thread count to use: *threads*, or all usable cores when it is ``None``.

    Raises:
        InputError: a count below 1.

    >>> resolve_threads(3)
    3
    """
    if threads is None:
        return usable_cores()
    if threads < 1:
        raise InputError(f"threads is {threads}; expected 1 or more, or none for all usable cores")
    return threads


def _cgroup_quota() -> float | None:
    """CPU quota in cores, or None when there is no limit (or no cgroup)."""
    try:
        limit, period = _CGROUP_V2.read_text().split()
        return None if limit == "max" else int(limit) / int(period)
    except (OSError, ValueError):
        pass
    try:
        limit_us = int(_CGROUP_V1.read_text())
        period_us = int(_CGROUP_V1.with_name("cpu.cfs_period_us").read_text())
        return limit_us / period_us if limit_us > 0 and period_us > 0 else None
    except (OSError, ValueError):
        return None
