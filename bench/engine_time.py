"""Run fastrecall's command line with every call of the engine timed.

python bench/engine_time.py OUT ARGUMENTS… writes the seconds that were spent inside of the C++
engine, seen from the calling thread, to the file OUT.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastrecall import _core
from fastrecall.cli.app import main


class Stopwatch:
    """Adds up the time of the functions that it wraps; calls within calls count once."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._inside = False

    def timed(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **options: Any) -> Any:
            if self._inside:
                return call(*arguments, **options)
            self._inside = True
            start = time.perf_counter()
            try:
                return call(*arguments, **options)
            finally:
                self.seconds += time.perf_counter() - start
                self._inside = False

        return run


def watch(watch: Stopwatch) -> None:
    """Wrap every function, method and constructor of the engine."""
    for name, value in list(vars(_core).items()):
        if name.startswith("_"):
            continue
        if not isinstance(value, type):
            if callable(value):
                setattr(_core, name, watch.timed(value))
            continue
        for method, call in list(vars(value).items()):
            public = not method.startswith("_") or method == "__init__"
            if public and callable(call) and not isinstance(call, staticmethod):
                setattr(value, method, watch.timed(call))


if __name__ == "__main__":
    out, stopwatch = Path(sys.argv.pop(1)), Stopwatch()
    watch(stopwatch)
    try:
        main()
    finally:
        out.write_text(f"{stopwatch.seconds}\n")
