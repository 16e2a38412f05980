"""What the machine can do, and how much of that the kernels reach, by the C++ program."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from harness import programs
from harness.results import Measurement
from rows import Opened, Settings

PROGRAM = "fastrecall_bench"
PEAKS = {"GFLOP/s": "fp32", "Gop/s": "int8"}


class RoofRow:
    minutes = {"roof": 0.5}  # noqa: RUF012

    def prepare(self, settings: Settings) -> None:
        programs.build(PROGRAM)

    @contextmanager
    def open(self, settings: Settings) -> Iterator[Opened]:
        program = programs.build(PROGRAM)
        opened = Opened(lambda _: [])

        def measure(_: str) -> list[Measurement]:
            done = subprocess.run(
                [program, str(max(settings.thread_counts))],
                capture_output=True,
                text=True,
                check=True,
                timeout=300,
            )
            opened.extra.update(parse(done.stdout))
            return []

        opened.measure = measure
        yield opened


def parse(output: str) -> dict[str, Any]:
    """The best peak of each kind by threads, and every kernel with its share of its own roof.

    >>> found = parse("roof int8\\tavx2\\t1\\t200\\tGop/s\\nscreen\\tavx2\\t1\\t150\\tGop/s\\n")
    >>> found["roof"], found["kernels"][0]["share"]
    ({'int8': {'1': 200.0}}, 0.75)
    """
    roof: dict[str, dict[str, float]] = {}
    peaks: dict[tuple[str, str], float] = {}  # by kind and instruction set, one thread
    kernels: list[dict[str, Any]] = []
    for line in output.splitlines():
        what, isa, threads, text, unit = line.split("\t")
        rate = float(text)
        if what.startswith("roof "):
            kind = what.removeprefix("roof ")
            rates = roof.setdefault(kind, {})
            rates[threads] = max(rate, rates.get(threads, 0.0))
            if threads == "1":
                peaks[kind, isa] = rate
        else:
            kernels.append({"kernel": what, "isa": isa, "rate": rate, "unit": unit})
    for one in kernels:
        kind = PEAKS[one["unit"]]
        # AVX-512 without VNNI has the float roof of its family, and no int8 loop of its own.
        isa = "avx512" if kind == "fp32" and one["isa"] == "avx512vnni" else one["isa"]
        peak = peaks.get((kind, isa))
        one["share"] = None if peak is None else one["rate"] / peak
    return {"roof": roof, "kernels": kernels}
