"""Build the library that makes file operations fail, and run strikes with it."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from shutil import which

from tests.children import ROOT, environment
from tests.faults.kinds import Kind
from tests.faults.trials import ImpossibleError

_HERE = Path(__file__).parent


@cache
def library() -> Path:
    """The compiled `shim.c`, once a process."""
    compiler = which("cc") or which("gcc")
    if not sys.platform.startswith("linux") or compiler is None:
        raise ImpossibleError("failing file operations needs Linux and a C compiler")
    target = Path(tempfile.mkdtemp(prefix="fastrecall-faults-"), "shim.so")
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", target, _HERE / "shim.c", "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise ImpossibleError(f"shim.c does not compile here: {done.stderr[-200:]}")
    return target


_RESULTS: dict[tuple[str, str, int], str] = {}


def struck(one: Kind, faults: Sequence[str], most: int) -> str:
    """Strike a kind of file; what became of the tries, or AssertionError."""
    told = []
    kind = one.name
    if one.heavy:  # hundreds of files and waits for the disk
        most = 2 if most < 10 else 40
    for fault in faults:
        if (kind, fault, most) not in _RESULTS:
            _strike_all(kind, most)
        result = _RESULTS[kind, fault, most]
        assert not result.startswith("!"), result[1:]
        told.append(result)
    return "; ".join(told)


def _strike_all(kind: str, most: int) -> None:
    """All faults on one kind in one process, because starting one is what costs."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.strike", kind, str(most)],
        cwd=ROOT,
        env=environment(LD_PRELOAD=str(library())),
        capture_output=True,
        text=True,
    )
    for line in done.stdout.splitlines():
        fault, result = json.loads(line)
        _RESULTS[kind, fault, most] = result
    assert done.returncode == 0, done.stderr
