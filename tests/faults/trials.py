"""Faults that every kind of file must stand: damage, full and closed folders, company, clocks."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from tests.faults.kinds import Kind
from tests.faults.strike import at_home, plain, scratch

from fastrecall import HNSW, ExactIndex
from fastrecall.errors import FastrecallError

NOBODY = 65534


class ImpossibleError(Exception):
    """This machine (or user) cannot provoke the fault."""


def _said(error: FastrecallError) -> str:
    text = str(error)
    assert "\n" not in text, f"no clear sentence: {text!r}"
    return text


def _prepared(kind: Kind, base: Path) -> tuple[Path, Path, Any, Any]:
    """The folders before and after the work, and what they say."""
    start, after = base / "start", base / "after"
    start.mkdir()
    with at_home(start):
        kind.before(start)
        old = plain(kind.read(start))
    shutil.copytree(start, after, copy_function=shutil.copy2)
    with at_home(after):
        kind.write(after, lambda _: None)
        new = plain(kind.read(after))
    return start, after, old, new


# Damage


def damaged(kind: Kind, how: str, most: int) -> str:
    """Cut files off, or flip bits, *most* times."""
    dice = random.Random(f"{kind.name} {how}")
    refused = healed = unnoticed = 0
    with scratch() as base:
        _, after, _, _ = _prepared(kind, Path(base))
        with at_home(after):
            whole = kind.read(after)
        place = Path(base, "place")
        tries = list(_cuts(kind, after) if how == "cut" else _flips(kind, after, most, dice))
        for path, content in tries if len(tries) <= most else dice.sample(tries, most):
            shutil.copytree(after, place)
            (place / path).write_bytes(content)
            where = f"{kind.name}, {path}, {len(content)} bytes, {how}: "
            with at_home(place):
                try:
                    state = kind.read(place)
                except FastrecallError as error:
                    _said(error)
                    refused += 1
                except Exception:
                    raise AssertionError(where + traceback.format_exc()) from None
                else:
                    good = kind.fine(state, whole)
                    assert good or not kind.checks, f"{where}a wrong result: {state!r}"
                    healed += good
                    unnoticed += not good
            shutil.rmtree(place)
    told = f"{refused} refused, {healed} right in spite of it"
    return f"{told}, {unnoticed} not noticed" if unnoticed else told


def _cuts(kind: Kind, folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Every interesting length: nothing, a byte, blocks, lines, the halves, all but a little."""
    for path in kind.files(folder):
        content = path.read_bytes()
        size = len(content)
        ends = [at + 1 for at in range(size) if content[at] == 10][:20]
        lengths = {0, 1, 4, 8, 64, 256, 4096, size // 2, size - 1, size - 2, size - 8, size - 64}
        lengths |= {length + by for length in ends for by in (-1, 0, 1)}
        for length in sorted(lengths):
            if 0 <= length < size:
                yield path.relative_to(folder), content[:length]


def _flips(
    kind: Kind, folder: Path, most: int, dice: random.Random
) -> Iterator[tuple[Path, bytes]]:
    paths = kind.files(folder)
    for turn in range(most):
        path = paths[turn % len(paths)]
        content = bytearray(path.read_bytes())
        content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
        yield path.relative_to(folder), bytes(content)


# Folders that cannot be written


@contextmanager
def _tmpfs(options: str) -> Iterator[Path]:
    with scratch() as base:
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", base]
        if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
            raise ImpossibleError("mounting a tmpfs is not permitted here")
        try:
            yield Path(base)
        finally:
            subprocess.run(["umount", "-l", base], check=True)


def disk_full(kind: Kind, most: int) -> str:
    """A tmpfs with fewer and fewer free pages, down to none."""
    refused = done = 0
    with scratch() as base, _tmpfs("size=4m") as disk:
        start, _, old, new = _prepared(kind, Path(base))
        place = disk / "place"
        for pages in sorted({round(1.6**step) - 1 for step in range(most)}):
            shutil.copytree(start, place, copy_function=shutil.copy2)
            filler = disk / "filler"
            _fill(filler, disk, pages * 4096)
            refused_now = _attempt(kind, place, old, new)
            refused += refused_now
            done += not refused_now
            filler.unlink()
            with at_home(place):
                kind.write(place, lambda _: None)
                assert kind.adds or plain(kind.read(place)) == new, f"{kind.name}: not healed"
            shutil.rmtree(place)
    return f"{refused} refused, {done} done"


def _fill(filler: Path, disk: Path, leave: int) -> None:
    free = shutil.disk_usage(disk).free
    with filler.open("wb") as file:
        file.truncate(0)
        os.posix_fallocate(file.fileno(), 0, max(4096, free - leave))


def _attempt(kind: Kind, place: Path, old: Any, new: Any) -> bool:
    """Do the work where it may fail; returns whether it was refused."""
    told: set[str] = set()
    refused = False
    with at_home(place):
        try:
            kind.write(place, told.add)
        except FastrecallError as error:
            _said(error)
            refused = True
        state = plain(kind.read(place))
    if kind.grows:
        assert old <= state <= new, f"{kind.name}: {state}"
        assert told <= state, f"{kind.name}: acknowledged and lost: {told - state}"
    else:
        assert state in (old, new), f"{kind.name}: neither old nor new: {state!r}"
    assert refused or state == new, f"{kind.name}: said to be done, and is not"
    return refused


def read_only(kind: Kind, _most: int) -> str:
    """A read-only file system: reading works, writing is refused."""
    with scratch() as base, _tmpfs("size=8m") as disk:
        start, _, old, _ = _prepared(kind, Path(base))
        shutil.copytree(start, disk / "place", copy_function=shutil.copy2)
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        return _closed(kind, disk / "place", old)


def no_permission(kind: Kind, _most: int) -> str:
    """Another user's folder, asked from a child that is nobody."""
    if os.geteuid() != 0:
        raise ImpossibleError("only root can become another user")
    with scratch() as base:
        Path(base).chmod(0o755)
        start, _, old, _ = _prepared(kind, Path(base))

        def ask() -> str:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            return _closed(kind, start, old)

        return in_child(ask)


def _closed(kind: Kind, place: Path, old: Any) -> str:
    with at_home(place):
        if not kind.alone:
            assert plain(kind.read(place)) == old, f"{kind.name}: read otherwise"
        try:
            kind.write(place, lambda _: None)
        except FastrecallError as error:
            return _said(error).replace(str(place), "…")
    assert not kind.must_write, f"{kind.name}: written where nothing can be"
    return "done without writing"


def in_child(work: Callable[[], str]) -> str:
    """Run in a forked child; an error there is one here."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            text, code = work(), 0
        except BaseException:
            text, code = traceback.format_exc(), 1
        os.write(send, text.encode()[:60_000])
        os._exit(code)
    os.close(send)
    with os.fdopen(receive, "rb") as pipe:
        text = pipe.read().decode()
    assert os.waitpid(child, 0)[1] == 0, text
    return text


# Company and clocks


def together(kind: Kind, count: int) -> str:
    """So many processes do the same work in the same folder at once, and one reads meanwhile."""
    with scratch() as base:
        start, _, old, new = _prepared(kind, Path(base))
        gate_out, gate_in = os.pipe()
        children: list[int] = []
        for _ in range(count):
            child = os.fork()
            if child == 0:
                os.close(gate_in)
                os.read(gate_out, 1)  # opens for all when the parent closes its end
                os._exit(_worked(kind, start))
            children.append(child)
        os.close(gate_in)
        os.close(gate_out)
        reads = 0
        codes: dict[int, int] = {}
        wrong = ""
        while len(codes) < count:
            for child in children:
                done, status = os.waitpid(child, os.WNOHANG) if child not in codes else (0, 0)
                if done:
                    codes[done] = os.waitstatus_to_exitcode(status)
            if kind.alone or kind.adds or wrong:
                time.sleep(0.005)
                continue
            try:
                with at_home(start):
                    state = plain(kind.read(start))
            except Exception:
                wrong = traceback.format_exc()
                continue
            reads += 1
            good = old <= state <= new if kind.grows else state in (old, new)
            wrong = "" if good else f"neither old nor new: {state!r}"
        assert not wrong, f"{kind.name}: {wrong}"
        waiting = sum(code == 3 for code in codes.values())
        assert set(codes.values()) <= {0, 3}, f"{kind.name}: {codes}"
        with at_home(start):
            state = kind.read(start)
        if kind.adds:
            assert state[0]["asked"] == 1 + count, state
        else:
            assert plain(state) == new, f"{kind.name}: {state!r}"
    return f"{reads} reads meanwhile, {waiting} told to wait"


def _worked(kind: Kind, place: Path) -> int:
    try:
        with at_home(place):
            kind.write(place, lambda _: None)
    except FastrecallError as error:
        return 3 if "another process" in str(error) else 4
    except BaseException:
        traceback.print_exc()
        return 5
    return 0


def clock_back(kind: Kind, _most: int) -> str:
    """The clock goes back by ten years between two writes, and files get times in the future."""
    now, now_ns = time.time, time.time_ns
    back = 10 * 365 * 86400
    with scratch() as base:
        start, _, _, new = _prepared(kind, Path(base))
        for path in start.rglob("*"):
            os.utime(path, (now() + back, now() + back))
        time.time = lambda: now() - back
        time.time_ns = lambda: now_ns() - back * 10**9
        try:
            with at_home(start):
                kind.write(start, lambda _: None)
                assert plain(kind.read(start)) == new, f"{kind.name}: {kind.read(start)!r}"
        finally:
            time.time, time.time_ns = now, now_ns
    return "the same result"


def origin_replaced() -> str:
    """The corpus of an index is replaced by one of the same size and time."""
    from fastrecall.search.index.opening import open_index
    from fastrecall.search.index.source import index_corpus

    issue = '[{"number": 1, "title": "%s", "createdAt": "2024-05-31T12:00:00Z"}]'
    with scratch() as base:
        file = Path(base, "issues.json")
        file.write_text(issue % "Crash at start")
        stat = file.stat()
        index_corpus(str(file), Path(base, "index"), model="fake", cache=False)
        assert open_index(Path(base, "index")).changed_origin() is None
        file.write_text(issue % "Crash at end.!")
        os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        assert file.stat().st_size == stat.st_size
        assert open_index(Path(base, "index")).changed_origin() == str(file.resolve())
    return "told"


def engine_interrupted() -> str:
    """Ctrl-C in long calls of the engine: how soon each answers."""
    vectors = np.random.default_rng(0).standard_normal((60_000, 256), np.float32)
    exact, grown = ExactIndex(vectors), HNSW(256)
    calls = {
        "search": lambda: exact.search(vectors, 10),
        "kNN graph": lambda: exact.knn_graph(16),
        "HNSW build": lambda: grown.add(vectors),
    }
    told = []
    for name, call in calls.items():
        before = signal.signal(signal.SIGALRM, signal.default_int_handler)
        sent = time.monotonic() + 0.5
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        try:
            call()
            raise AssertionError(f"{name} was over before it could be interrupted")
        except KeyboardInterrupt:
            told.append(f"{name} {max(0.0, time.monotonic() - sent):.2f} s")
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
    assert len(grown) % 1024 == 0
    return ", ".join(told)
