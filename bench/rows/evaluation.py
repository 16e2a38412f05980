"""`fastrecall eval` on a corpus of 20,000 nodes: the whole process, and the engine's part of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness import BUILD, ROOT, data
from harness.results import Measurement
from rows import Opened, Settings

ROUNDS = 7
WALL, ENGINE = 2.0, 0.3  # seconds
ENGINE_TIME = str(ROOT / "bench" / "engine_time.py")


class EvalRow:
    minutes = {"eval20k": 0.7}  # noqa: RUF012

    def prepare(self, settings: Settings) -> None:
        """Embed all nodes once: minutes, and the reason why `eval` is timed with its cache."""
        _evaluate(_folder(settings), settings)

    @contextmanager
    def open(self, settings: Settings) -> Iterator[Opened]:
        folder = _folder(settings)
        nodes = _evaluate(folder, settings)[1]  # fills the caches of vectors and of files
        yield Opened(lambda _: _measure(folder, nodes, settings))


def _folder(settings: Settings) -> Path:
    return data.demo_folder(settings.size(20_000, 1_000))


def _measure(folder: Path, nodes: int, settings: Settings) -> list[Measurement]:
    walls, engine = [], []
    for _ in range(ROUNDS):
        walls.append(_evaluate(folder, settings)[0])
        engine.append(_evaluate(folder, settings, count_engine=True)[0])
    work = f"`eval` on {nodes:,} nodes, vectors cached"
    threads = settings.threads
    caps = (
        (f"{work}, whole process", WALL, walls),
        (f"{work}, calls of the engine", ENGINE, engine),
    )
    return [
        Measurement(work=what, kind="at most", goal=cap, unit="s", threads=threads, values=values)
        for what, cap, values in caps
    ]


def _evaluate(folder: Path, settings: Settings, *, count_engine: bool = False) -> tuple[float, int]:
    """Seconds of a whole `eval` in a process of its own (or of its calls of the engine), nodes."""
    with tempfile.TemporaryDirectory() as out:
        record, spent = Path(out) / "record.json", Path(out) / "engine"
        run = [ENGINE_TIME, str(spent)] if count_engine else ["-m", "fastrecall"]
        command = [sys.executable, *run, "eval", str(folder), "--out", str(record)]
        # Small runs are for trying things: they need no model.
        command += ["--model", "fake" if settings.quick else "minilm"]
        environment = {**os.environ, "FASTRECALL_CACHE": str(BUILD / "cache")}
        environment["PYTHONPATH"] = os.pathsep.join(
            filter(None, [_checkout(), os.environ.get("PYTHONPATH")])
        )
        start = time.perf_counter()
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        wall = time.perf_counter() - start
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)} failed: {done.stderr[-500:]}")
        nodes = json.loads(record.read_text(encoding="utf-8"))["corpus"]["nodes"]
        return float(spent.read_text()) if count_engine else wall, int(nodes)


def _checkout() -> str | None:
    """The checkout's package folder, when that is the package in use."""
    import fastrecall

    inside = ROOT / "python"
    return str(inside) if Path(fastrecall.__file__).is_relative_to(inside) else None
