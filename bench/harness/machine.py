"""Where, when and with what a result was measured."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

from harness import ROOT

PACKAGES = (
    *("numpy", "scipy", "faiss-cpu", "hnswlib", "usearch", "scann", "torch"),
    *("igraph", "onnxruntime", "tokenizers", "threadpoolctl"),
)
FLAGS = ("avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512_vnni", "avx_vnni", "asimddp")


def raise_priority() -> str:
    """Go before other programs where that is allowed; processes started from now on do too.

    Who was started by `nice` or `chrt` keeps what that has set.
    """
    with suppress(AttributeError, OSError):
        if os.getpriority(os.PRIO_PROCESS, 0) == 0:
            os.setpriority(os.PRIO_PROCESS, 0, -10)
    try:
        policy = {
            getattr(os, name): name
            for name in ("SCHED_OTHER", "SCHED_FIFO", "SCHED_RR", "SCHED_BATCH")
        }[os.sched_getscheduler(0) & 0xF]
        return f"nice {os.getpriority(os.PRIO_PROCESS, 0)}, {policy}"
    except (AttributeError, KeyError, OSError):
        return "unknown"


def cores() -> int:
    from fastrecall._threads import usable_cores

    return usable_cores()


def provenance() -> dict[str, Any]:
    from fastrecall import _core

    versions = {"python": platform.python_version(), "fastrecall": _core.__version__}
    versions |= {package: _version(package) for package in PACKAGES}
    return {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "cpu": _cpu_model(),
        "flags": [flag for flag in FLAGS if flag in _cpu_flags()],
        "cores": cores(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "isa": _core.isa(),
        "build": _core.build_info(),
        "versions": versions,
        "commit": _git("rev-parse", "HEAD"),
        "changed_files": len(_git("status", "--porcelain").splitlines()),
    }


class Surroundings:
    """What else the machine did while something was measured.

    >>> around = Surroundings()
    >>> sorted(around.report([]))
    ['load_after', 'load_before', 'others_share', 'stolen_share']
    """

    def __init__(self, processes: Iterable[int] = ()) -> None:
        self._load = os.getloadavg()
        self._start = time.perf_counter()
        self._busy, self._stolen = _cpu_seconds()
        self._own = _own_seconds(processes)

    def report(self, processes: Iterable[int] = ()) -> dict[str, Any]:
        """Load averages before and after, and which shares of all cores others had meanwhile."""
        busy, stolen = _cpu_seconds()
        others = busy - self._busy - (_own_seconds(processes) - self._own)
        available = max(1e-9, (time.perf_counter() - self._start) * (os.cpu_count() or 1))
        return {
            "load_before": [round(load, 2) for load in self._load],
            "load_after": [round(load, 2) for load in os.getloadavg()],
            "others_share": round(max(0.0, others / available), 3),
            "stolen_share": round((stolen - self._stolen) / available, 3),
        }


def _cpu_seconds() -> tuple[float, float]:
    """Seconds that any process ran, and seconds that the host kept for itself; 0 outside Linux."""
    try:
        fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    except OSError:
        return 0.0, 0.0
    user, nice, system, _idle, _wait, irq, softirq, steal = (int(field) for field in fields[:8])
    tick = os.sysconf("SC_CLK_TCK")
    return (user + nice + system + irq + softirq) / tick, steal / tick


def _own_seconds(processes: Iterable[int]) -> float:
    """CPU seconds of this process, its ended children and the given living ones."""
    own = sum(os.times()[:4])
    for process in processes:
        with suppress(OSError):
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            own += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return own


def _cpu_model() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _cpu_flags() -> set[str]:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith(("flags", "Features")):
                return set(line.partition(":")[2].split())
    return set()


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "absent"


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""
