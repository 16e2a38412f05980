"""Texts to vectors, by `bench/embed.py`."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness import ROOT
from harness.results import Measurement
from rows import Opened, Settings

GOALS = {
    "onnxruntime": 1.0,
    "onnxruntime fp32": 1.0,
    "sentence-transformers": 1.7,
}


class EmbedRow:
    minutes = {"embed": 2.5}  # noqa: RUF012

    def prepare(self, settings: Settings) -> None:
        """The script makes what it needs."""

    @contextmanager
    def open(self, settings: Settings) -> Iterator[Opened]:
        opened = Opened(lambda _: [])

        def measure(_: str) -> list[Measurement]:
            result = _run(settings)
            opened.extra["embed"] = result
            return [_line(result, name) for name in GOALS if name in result["peers"]]

        opened.measure = measure
        yield opened


def _run(settings: Settings) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "embed.json"
        command = [sys.executable, str(ROOT / "bench" / "embed.py"), "--json", str(out)]
        command += ["--texts", str(settings.size(2000, 60))]
        command += ["--repeats", "2" if settings.quick else "3"]
        command += ["--threads", str(settings.threads)]
        if settings.fp32:
            command += ["--fp32", settings.fp32]
        if settings.st_model:
            command += ["--st-model", settings.st_model]
        if settings.st_python:
            command += ["--st-python", settings.st_python]
        done = subprocess.run(command, cwd=ROOT, stdout=sys.stderr, timeout=900)
        if done.returncode != 0:  # its reason stands on stderr
            raise RuntimeError(f"bench/embed.py ended with code {done.returncode}")
        return dict(json.loads(out.read_text(encoding="utf-8")))


def _line(result: dict[str, Any], peer: str) -> Measurement:
    """One line a peer: they are different promises, and not all of them are installed."""
    names = ("fastrecall", peer)
    return Measurement(
        work=f"embedding of {result['texts']:,} node texts, beside {peer}",
        goal=GOALS[peer],
        unit="ms a text",
        scale=1e3 / result["texts"],
        threads=result["threads"],
        seconds={name: result["peers"][name]["seconds"] for name in names},
        settings={
            "largest difference": result["peers"][peer]["largest_difference"],
            "mean cosine": result["peers"][peer]["mean_cosine"],
        },
        note=(
            "embedding: fails when any value differs from plain onnxruntime's, which forms other "
            "batches, by more than 1e-5."
        ),
    )
