"""Count the instructions of fixed pieces of work, and compare with the committed counts.

Run from the repository root::

    python bench/instructions.py            # compare; exits with 1 when one grew by more than 20 %
    python bench/instructions.py --write    # make today's counts the ones to compare with

Times tell little on a shared machine; the instructions of a seeded, single-threaded piece of work
are the same on every run. They depend on the compiler, so counts are kept for each major version
of each, and compared with those of the same one only. valgrind executes AVX2 and no AVX-512: that
is the path that is counted, and the scalar one where it matters.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from harness import BUILD, RESULTS
from harness.programs import MissingToolError, build, tool

BASELINE = RESULTS / "instructions.json"
TOLERANCE = 0.20
PROGRAM = "fastrecall_counted"
SCALAR_TOO = ("exact_int8", "exact_float32")
TOGGLE = "measured"
"""Counting is on while this function of bench/counted.cpp runs."""

Counts = dict[str, int]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help="replace the committed counts")
    arguments = parser.parse_args()
    try:
        compiler, counts = count()
    except MissingToolError as missing:
        sys.exit(f"cannot count: {missing}")
    before = baseline(compiler)
    if arguments.write:
        write(compiler, counts)
    elif before is None:
        sys.exit(f"no counts of {compiler} in {BASELINE}; --write makes today's the first")
    print(f"{'case':<28}{'instructions':>14}{'change':>9}")
    for name, now in counts.items():
        then = (before or {}).get(name)
        change = "new" if then is None else f"{now / then - 1:+.1%}"
        print(f"{name:<28}{now:>14,}{change:>9}")
    problems = [] if arguments.write else grown(before or {}, counts)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def count(folder: Path = BUILD / "cmake") -> tuple[str, Counts]:
    """The compiler's name with its major version, and the instructions of every case.

    Raises:
        MissingToolError: valgrind, cmake, ninja or a compiler is missing, or this CPU has no AVX2.
    """
    valgrind = tool("valgrind")
    program = build(PROGRAM, folder)
    cases = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    pairs = [(case, "avx2") for case in cases] + [(case, "scalar") for case in SCALAR_TOO]
    return _compiler(folder), {
        f"{case}, {isa}": _count_one(valgrind, program, case, isa) for case, isa in pairs
    }


def grown(before: Counts, after: Counts) -> list[str]:
    """A sentence for every case that takes over 20 % more instructions, or is gone.

    >>> grown({"search": 100, "walk": 100}, {"search": 121, "walk": 119})
    ['search: 121 instructions where there were 100 (+21.0 %); at most +20 % are let pass']
    """
    problems = []
    for name, then in before.items():
        now = after.get(name)
        if now is None:
            problems.append(f"{name}: was counted and is gone; `--write` when that is meant")
        elif now > then * (1 + TOLERANCE):
            problems.append(
                f"{name}: {now:,} instructions where there were {then:,} "
                f"({100 * (now / then - 1):+.1f} %); at most {100 * TOLERANCE:+.0f} % are let pass"
            )
    return problems


def baseline(compiler: str) -> Counts | None:
    """The committed counts of a compiler, if there are any."""
    return _all_counts().get(compiler)


def write(compiler: str, counts: Counts) -> None:
    known = {**_all_counts(), compiler: counts}
    BASELINE.parent.mkdir(parents=True, exist_ok=True)
    BASELINE.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


def _all_counts() -> dict[str, Counts]:
    return json.loads(BASELINE.read_text(encoding="utf-8")) if BASELINE.exists() else {}


def _count_one(valgrind: str, program: Path, case: str, isa: str) -> int:
    command = [valgrind, "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    command += ["--collect-atstart=no", f"--toggle-collect={TOGGLE}", str(program), case]
    environment = {**os.environ, "FASTRECALL_ISA": isa}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if "this CPU cannot run" in done.stderr:
        raise MissingToolError(f"valgrind does not run {isa} on this machine")
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or found is None or found[1] == "0":
        raise RuntimeError(f"{case} on {isa} was not counted:\n{done.stderr[-2000:]}")
    return int(found[1])


def _compiler(folder: Path) -> str:
    """What compiled the program, e.g. ``GNU 12 x86_64``."""
    text = "".join(file.read_text() for file in folder.glob("CMakeFiles/*/CMakeCXXCompiler.cmake"))
    family = re.search(r'CMAKE_CXX_COMPILER_ID "(\w+)"', text)
    version = re.search(r'CMAKE_CXX_COMPILER_VERSION "(\d+)', text)
    if family is None or version is None:
        raise RuntimeError(f"CMake does not say in {folder} which compiler it uses")
    return f"{family[1]} {version[1]} {os.uname().machine}"


if __name__ == "__main__":
    sys.exit(main())
