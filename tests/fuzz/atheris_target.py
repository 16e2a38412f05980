"""One Python target under atheris: ``python -m tests.fuzz.atheris_target NAME FINDINGS [options]``.

An exception is kept as a finding, one file for each place it comes from, and the run goes on.
"""

from __future__ import annotations

import importlib
import sys
import time
from pathlib import Path
from types import ModuleType

from tests.fuzz.common import place_of

HANG_SECONDS = 5.0


def failure(target: ModuleType, data: bytes) -> str | None:
    """The place where the target fails on *data*, ``hang`` when it takes too long, else None."""
    started = time.process_time()
    try:
        target.run(data)
    except Exception as error:
        return place_of(error)
    return "hang" if time.process_time() - started > HANG_SECONDS else None


def smaller(target: ModuleType, data: bytes, place: str, seconds: float = 20.0) -> bytes:
    """*data* with everything left out that the failure does not need."""
    deadline = time.monotonic() + seconds
    step = max(1, len(data) // 2)
    while step:
        at = 0
        while at < len(data) and time.monotonic() < deadline:
            shorter = data[:at] + data[at + step :]
            if failure(target, shorter) == place:
                data = shorter
            else:
                at += step
        step //= 2
    return data


def load(name: str) -> ModuleType:
    return importlib.import_module(f"tests.fuzz.targets.{name}")


def minimise(name: str, folder: Path) -> None:
    target = load(name)
    for path in folder.iterdir():
        data = path.read_bytes()
        place = failure(target, data)
        if place is None:
            continue  # a hang that the fuzzer ended, or mended since
        path.write_bytes(smaller(target, data, place))


def main(arguments: list[str]) -> None:
    name, findings, *options = arguments
    if findings == "--minimise":
        minimise(name, Path(options[0]))
        return
    import atheris

    with atheris.instrument_imports(include=["fastrecall"]):
        target = load(name)
    folder = Path(findings)

    def run(data: bytes) -> None:
        place = failure(target, data)
        if place is not None and not (folder / place).exists():
            (folder / place).write_bytes(data)
            print(f"FINDING {place}", file=sys.stderr)

    mutate = getattr(target, "mutate", None)
    if mutate is None:
        atheris.Setup([sys.argv[0], *options], run)
    else:

        def mutated(data: bytes, max_size: int, seed: int) -> bytes:
            return mutate(data, seed, atheris.Mutate, max_size)

        atheris.Setup([sys.argv[0], *options], run, custom_mutator=mutated)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1:])
