"""Strike every single file operation of a kind of file, one after the other.

Runs where `shim.c` is preloaded; each try is a forked child.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from tests.faults.kinds import KINDS, Kind

from fastrecall.errors import FastrecallError

STRIKES = {
    "SIGKILL before an operation": (False, -1),
    "SIGKILL in the middle of a write": (False, -2),
    "write, fsync, rename … fail (EIO)": (False, errno.EIO),
    "write, fsync, rename … fail (ENOSPC)": (False, errno.ENOSPC),
    "writes interrupted (EINTR)": (False, errno.EINTR),
    "short writes": (False, -3),
    "reads fail (EIO)": (True, errno.EIO),
    "reads interrupted (EINTR)": (True, errno.EINTR),
    "short reads": (True, -3),
}
"""What befalls an operation: (one that reads or one that writes, what `shim.c` calls it)."""

EVERY = {errno.EINTR, -3}
"""Faults that must not be noticed at all; they befall every operation at once."""


def strike(kind: Kind, name: str, most: int) -> dict[str, int]:
    """Try one fault at every operation of one kind (at *most* so many, spread over all of them)."""
    reads, what = STRIKES[name]
    shim = ctypes.CDLL(None)
    counts = {"tries": 0, "refused": 0, "old": 0, "new": 0}
    with scratch() as base:
        start, after, place = Path(base, "start"), Path(base, "after"), Path(base, "place")
        start.mkdir()
        with at_home(start):
            kind.before(start)
            old = plain(kind.read(start))
        shutil.copytree(start, after)
        with at_home(after):
            kind.write(after, lambda _: None)
            new = plain(kind.read(after))
        source = after if reads else start
        shutil.copytree(source, place)
        seen = _in_child(shim, kind, place, reads, 1 << 30, what)["seen"]
        points = [0] if what in EVERY else _spread(seen, most)
        for at in points:
            shutil.rmtree(place)
            shutil.copytree(source, place)
            outcome = _in_child(shim, kind, place, reads, at, what)
            counts["tries"] += 1
            where = f"{kind.name}, {name}, operation {at} of {seen}: "
            _judge(kind, place, outcome, old, new, reads, counts, where, must_pass=at == 0)
    return counts


def _spread(seen: int, most: int) -> list[int]:
    """At most so many of the operations from 1 to *seen*; the last ones, which publish, always."""
    tail = range(max(1, seen - most // 2 + 1), seen + 1)
    head = np.linspace(1, max(1, seen - most // 2), most - len(tail)).astype(int).tolist()
    return sorted({*head, *tail}) if seen > most else list(range(1, seen + 1))


def _judge(
    kind: Kind,
    place: Path,
    outcome: dict[str, Any],
    old: Any,
    new: Any,
    reads: bool,
    counts: dict[str, int],
    where: str,
    *,
    must_pass: bool,
) -> None:
    said = outcome["said"]
    assert outcome["result"] != "crash", f"{where}{said}"
    if must_pass:
        assert outcome["result"] == "done", f"{where}{said}"
    if outcome["result"] == "refused":
        counts["refused"] += 1
        assert "\n" not in said, f"{where}no clear sentence: {said!r}"
    with at_home(place):
        state = plain(kind.read(place))
        told = set(outcome["told"])
        if reads:
            if outcome["result"] == "done":
                shown = outcome["state"]
                shown = shown if isinstance(shown, str) else frozenset(shown)
                assert shown == new or (kind.grows and shown <= new), f"{where}{shown}"
            assert state == new, f"{where}reading changed what was there"
            return
        if kind.grows:
            assert old <= state <= new, f"{where}{state}"
            assert told <= state, f"{where}acknowledged and lost: {told - state}"
        else:
            assert state in (old, new), f"{where}neither old nor new: {state!r}"
        if outcome["result"] == "done":
            assert state == new, f"{where}said to be done, and is not"
        counts["new" if state == new else "old"] += 1
        kind.write(place, lambda _: None)
        assert plain(kind.read(place)) == new or kind.adds, f"{where}not healed"


def _in_child(
    shim: ctypes.CDLL, kind: Kind, place: Path, reads: bool, at: int, what: int
) -> dict[str, Any]:
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receive)
        os.close(2)
        os.open(os.devnull, os.O_WRONLY)
        outcome: dict[str, Any] = {"result": "done", "said": "", "state": None}

        def tell(what: str) -> None:
            os.write(send, json.dumps({"told": what}).encode() + b"\n")

        with at_home(place):
            shim.fault_arm(str(place).encode(), int(reads), at, what)
            try:
                if reads:
                    state = kind.read(place)
                else:
                    kind.write(place, tell)
            except FastrecallError as error:
                outcome |= {"result": "refused", "said": str(error)}
            except BaseException:
                outcome |= {"result": "crash", "said": traceback.format_exc()}
            outcome["seen"] = shim.fault_seen()
            shim.fault_arm(b"/nowhere", 0, 1, 0)
            if reads and outcome["result"] == "done":
                shown = plain(state)
                outcome["state"] = shown if isinstance(shown, str) else sorted(shown)
        os.write(send, json.dumps(outcome).encode() + b"\n")
        os._exit(0)
    os.close(send)
    with os.fdopen(receive, "rb") as pipe:
        lines = [json.loads(line) for line in pipe if line.endswith(b"\n")]
    _, status = os.waitpid(child, 0)
    told = [line["told"] for line in lines if "told" in line]
    if os.WIFSIGNALED(status):
        killed = os.WTERMSIG(status) == signal.SIGKILL
        return {
            "result": "killed" if killed else "crash",
            "said": f"signal {os.WTERMSIG(status)}",
            "seen": at,
            "told": told,
        }
    return {**lines[-1], "told": told}


def plain(state: Any) -> Any:
    """A state as it can go through a pipe, and be compared."""
    return frozenset(map(str, state)) if isinstance(state, set) else repr(state)


def scratch() -> tempfile.TemporaryDirectory[str]:
    """A folder for trials, in memory where that is possible: they often wait for the disk."""
    memory = "/dev/shm"
    return tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None)


@contextlib.contextmanager
def at_home(folder: Path) -> Iterator[None]:
    before = os.environ.get("FASTRECALL_DATA")
    os.environ["FASTRECALL_DATA"] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ["FASTRECALL_DATA"]
        else:
            os.environ["FASTRECALL_DATA"] = before


def main(kind_name: str, most: int) -> None:
    """Strike one kind in all ways; prints [fault, result] as JSON lines, ``!`` before a failure."""
    kind = next(one for one in KINDS if one.name == kind_name)
    for name, (reads, _) in STRIKES.items():
        if reads and not kind.reads:
            continue
        try:
            counts = strike(kind, name, most)
            parts = [f"{count} {what}" for what, count in counts.items() if count]
            result = ", ".join(parts)
        except AssertionError as error:
            result = f"!{error}"
        print(json.dumps([name, result]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
