"""The table of faults: what goes wrong, what is running, how it is provoked, and what comes of it.

Each `Row` is one promise; `tests/faults/__main__.py` and pytest keep it to the test.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from tests.faults import commands, trials
from tests.faults.kinds import KINDS, Kind
from tests.faults.shim import struck
from tests.faults.strike import STRIKES

OWN = tuple(kind for kind in KINDS if kind.checks)
EVERY_KIND = "writing any kind of file"


@dataclass(frozen=True)
class Row:
    """A promise, and the trials that must keep it: by name, how many tries if quick or thorough."""

    fault: str
    running: str
    provoked: str
    outcome: str
    lost: str
    trials: tuple[tuple[str, Callable[[int], str]], ...]
    quick: int = 1
    thorough: int = 1
    only_thorough: bool = False


def _kinds(
    trial: Callable[[Kind, int], str], kinds: tuple[Kind, ...] = KINDS
) -> tuple[tuple[str, Callable[[int], str]], ...]:
    return tuple((kind.name, partial(trial, kind)) for kind in kinds)


def _one(name: str, trial: Callable[[int], str]) -> tuple[tuple[str, Callable[[int], str]], ...]:
    return ((name, trial),)


def _struck(*faults: str) -> tuple[tuple[str, Callable[[int], str]], ...]:
    kinds = [kind for kind in KINDS if kind.reads or not STRIKES[faults[0]][0]]
    return tuple((kind.name, partial(struck, kind, faults)) for kind in kinds)


def _signals() -> tuple[tuple[str, Callable[[int], str]], ...]:
    return tuple(
        (
            f"{name}, {number.name}",
            partial(
                lambda name, number, most: commands.signalled(name, number, most), name, number
            ),
        )
        for name in commands.COMMANDS
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
    )


_READING = "reading any kind of file"
_SHIM = "a preloaded library strikes one file operation after the other (shim.c)"
_OLD_OR_NEW = "the files say the old or the new, never a mixture; the next run heals and finishes"

TABLE: tuple[Row, ...] = (
    Row(
        "SIGKILL",
        EVERY_KIND,
        f"{_SHIM}: death before it, and in the middle of a write",
        _OLD_OR_NEW,
        "the block, page or note that was not acknowledged",
        _struck("SIGKILL before an operation", "SIGKILL in the middle of a write"),
        quick=6,
        thorough=200,
    ),
    Row(
        "SIGKILL, SIGTERM, Ctrl-C",
        "eval, index, fetch",
        "the signal at random moments of the run",
        "exit code 130 (Ctrl-C) or 143 (SIGTERM) and one sentence; the next run ends with the same "
        "bytes as an undisturbed one",
        "texts and pages in the making; what an index had of a new build",
        _signals(),
        thorough=4,
        only_thorough=True,
    ),
    Row(
        "SIGTERM, Ctrl-C",
        "serve, stdin open",
        "the signal after a note was acknowledged",
        "ends at once with 143 or 130; the note and the counts are on disk",
        "nothing",
        tuple(
            (f"serve, {number.name}", lambda _most, number=number: commands.serve_stopped(number))  # type: ignore[misc]
            for number in (signal.SIGTERM, signal.SIGINT)
        ),
        only_thorough=True,
    ),
    Row(
        "EIO and ENOSPC",
        EVERY_KIND,
        f"{_SHIM}: open, write, fsync, rename, unlink, mkdir, close fail",
        f"one sentence, or done; {_OLD_OR_NEW}",
        "what was not acknowledged",
        _struck("write, fsync, rename … fail (EIO)", "write, fsync, rename … fail (ENOSPC)"),
        quick=6,
        thorough=200,
    ),
    Row(
        "EINTR and short writes",
        EVERY_KIND,
        f"{_SHIM}: every other call is interrupted, every write takes half",
        "the same files as without",
        "nothing",
        _struck("writes interrupted (EINTR)", "short writes"),
        quick=6,
        thorough=200,
    ),
    Row(
        "EIO",
        _READING,
        f"{_SHIM}: open, read, mmap fail",
        "one sentence, or the right content; caches compute again",
        "nothing",
        _struck("reads fail (EIO)"),
        quick=6,
        thorough=200,
    ),
    Row(
        "EINTR and short reads",
        _READING,
        f"{_SHIM}: every other call is interrupted, every read brings half",
        "the right content",
        "nothing",
        _struck("reads interrupted (EINTR)", "short reads"),
        quick=6,
        thorough=200,
    ),
    Row(
        "disk full",
        EVERY_KIND,
        "a tmpfs of 4 MB, filled up to 0, 1, 2 … pages",
        f"one sentence, or done; {_OLD_OR_NEW}",
        "what was not acknowledged",
        _kinds(trials.disk_full),
        quick=5,
        thorough=14,
    ),
    Row(
        "output full",
        "eval",
        "stdout is /dev/full",
        "one sentence, exit code 2",
        "nothing: vectors are in the cache",
        _one("eval", lambda _most: commands.stdout_full()),
    ),
    Row(
        "read-only file system",
        EVERY_KIND,
        "a tmpfs, mounted anew without the right to write",
        "reading works; writing is refused in one sentence",
        "nothing",
        _kinds(trials.read_only),
    ),
    Row(
        "no permission",
        EVERY_KIND,
        "a child that became user nobody",
        "reading works; writing is refused in one sentence",
        "nothing",
        _kinds(trials.no_permission),
    ),
    Row(
        "files cut off",
        "reading what fastrecall wrote",
        "cut at nothing, at lines, blocks, halves, all but a little",
        "refused in one sentence, or the whole blocks and lines before the cut",
        "what was cut off",
        _kinds(lambda kind, most: trials.damaged(kind, "cut", most), OWN),
        quick=12,
        thorough=400,
    ),
    Row(
        "flipped bits",
        "reading what fastrecall wrote",
        "one bit at a random place",
        "refused in one sentence, or everything but the damaged block or line; never another value",
        "the damaged block or line",
        _kinds(lambda kind, most: trials.damaged(kind, "flip", most), OWN),
        quick=12,
        thorough=1000,
    ),
    Row(
        "files cut off, flipped bits",
        "reading formats of others: gold CSV, TREC runs, settings",
        "as above",
        "what cannot be read is refused in one sentence; these formats have no checksum, so a "
        "changed digit is not noticed (.gz has one)",
        "what was cut off",
        _kinds(
            lambda kind, most: f"{trials.damaged(kind, 'cut', most)}; "
            + trials.damaged(kind, "flip", most),
            tuple(kind for kind in KINDS if not kind.checks and kind.reads),
        ),
        quick=12,
        thorough=400,
    ),
    Row(
        "two processes",
        EVERY_KIND,
        "both do the same work in one folder; a third reads all the time",
        "readers see old or new; all work is there, or one is told to wait",
        "nothing",
        _kinds(lambda kind, _most: trials.together(kind, 2)),
    ),
    Row(
        "five processes",
        EVERY_KIND,
        "as above",
        "as above",
        "nothing",
        _kinds(lambda kind, _most: trials.together(kind, 5)),
        only_thorough=True,
    ),
    Row(
        "clock set back",
        EVERY_KIND,
        "ten years back between two runs; all files from the future",
        "the same result",
        "nothing",
        _kinds(trials.clock_back),
    ),
    Row(
        "corpus replaced by one of equal size and time",
        "search, status",
        "the time of the old file is given to the new one",
        "the change is told",
        "nothing",
        _one("index", lambda _most: trials.origin_replaced()),
    ),
    Row(
        "corpus changes while it is read",
        "every command with a corpus",
        "a file is written anew between two reads (tests/corpus/test_changed.py)",
        "refused in one sentence",
        "nothing",
        (),
    ),
    Row(
        "Ctrl-C in the engine",
        "exact search, kNN graph, HNSW build",
        "a timer in the middle of one long call",
        "answered between two blocks; a grown HNSW keeps its whole rounds of 1,024 and can be "
        "saved",
        "the round in the making",
        _one("engine", lambda _most: trials.engine_interrupted()),
        only_thorough=True,
    ),
    Row(
        "300 MB of address space",
        "--help, eval, index",
        "RLIMIT_AS; model `fake`",
        "the result",
        "nothing",
        (
            ("--help", lambda _most: commands.little_memory(["--help"], 300)),
            (
                "eval",
                lambda _m: commands.little_memory(["eval", "demo:300", "--model", "fake"], 300),
            ),
            (
                "index",
                lambda _m: commands.little_memory(
                    ["index", "demo:300", "--model", "fake", "--out", "x"], 300
                ),
            ),
        ),
        only_thorough=True,
    ),
    Row(
        "300 MB of address space",
        "eval with a real model",
        "RLIMIT_AS; the model needs about 700 MB",
        "one sentence: out of memory, and what to do",
        "nothing",
        _one(
            "eval",
            lambda _m: commands.little_memory(
                ["eval", "demo:300", "--model", "minilm"], 300, "error: out of memory; use"
            ),
        ),
    ),
)  # fmt: skip
