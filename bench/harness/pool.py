"""Contenders in processes of their own, timed in turns.

One process each keeps their thread pools apart. Turns share whatever else the machine is doing: a
ratio of two times of the same round is worth more than either.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import statistics
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

Result = TypeVar("Result")

MISSING = "not installed"

PAUSE = 0.01
"""Seconds between turns: OpenMP threads spin for some milliseconds after their work is done."""

LONG = 2.0
"""Seconds from which on a call needs no warming up."""

UNSET = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "FASTRECALL_ISA")
"""Settings that would slow one contender down."""


class ContenderError(Exception):
    """A contender could not do what it was asked."""


@dataclass(frozen=True)
class Maker:
    """How a process makes its contender: a class, and what its constructor gets."""

    contender: type
    arguments: tuple[Any, ...] = ()


class Pool:
    """Contenders by name, each living in its own process until the pool is closed.

    A contender is any object with `set_threads`; everything else it does is asked for by the name
    of the method. What cannot be made is in `absent`, with the reason.
    """

    def __init__(self, makers: Mapping[str, Maker], *, threads: int) -> None:
        self.absent: dict[str, str] = {}
        self._workers: dict[str, tuple[Connection, BaseProcess]] = {}
        context = multiprocessing.get_context("spawn")
        with _environment(threads):
            for name, maker in makers.items():
                ours, theirs = context.Pipe()
                process = context.Process(target=_work, args=(theirs, maker), daemon=True)
                process.start()
                theirs.close()
                self._workers[name] = (ours, process)
                try:  # one after the other: building an index takes memory and time
                    self._answer(name, 300)
                except ContenderError as failure:
                    self.absent[name] = str(failure)
                    self._drop(name)

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        for name in list(self._workers):
            self._drop(name)

    @property
    def names(self) -> list[str]:
        return list(self._workers)

    @property
    def processes(self) -> list[int]:
        return [process.pid or 0 for _, process in self._workers.values()]

    def ask(self, name: str, method: str, *arguments: Any, threads: int, limit: float = 300) -> Any:
        """What a contender's method returns."""
        return self._send(name, limit, "ask", method, arguments, threads, 1)

    def seconds(
        self, name: str, method: str, *arguments: Any, threads: int, repeats: int, limit: float
    ) -> float:
        """Seconds of one call, as the mean of *repeats*."""
        return float(self._send(name, limit, "time", method, arguments, threads, repeats))

    def turns(
        self,
        method: str,
        *arguments: Any,
        threads: int,
        names: Iterable[str] | None = None,
        keep: Iterable[str] = (),
        rounds: int = 7,
        budget: float = 10.0,
        floor: float = 0.1,
        slow: float = 2.5,
    ) -> dict[str, list[float]]:
        """Seconds a call for each contender and round.

        Short calls are repeated for about *floor* seconds, and warmed up first; a first call that
        took LONG needed no warming and counts. A peer sits out when it has used *budget* seconds,
        or while it is more than *slow* times slower than the fastest peer. Contenders in *keep*
        take part in every round, until no peer does. One that fails is moved to `absent`.
        """
        keep = set(keep)
        limit = 60 + 10 * budget
        repeats: dict[str, int] = {}
        times: dict[str, list[float]] = {}

        def take(name: str) -> float:
            time.sleep(PAUSE)
            try:
                return self.seconds(
                    name,
                    method,
                    *arguments,
                    threads=threads,
                    repeats=repeats.setdefault(name, 1),
                    limit=limit,
                )
            except ContenderError as failure:
                self._leave_out(name, failure)
                times.pop(name, None)
                repeats.pop(name)
                return math.nan

        for name in [name for name in names or self.names if name in self._workers]:
            times[name] = [once] if (once := take(name)) >= LONG else []
            if once < LONG:
                once = take(name)
            if name in repeats:
                repeats[name] = max(1, min(10_000, math.ceil(floor / max(once, 1e-7))))
            else:
                times.pop(name, None)
        peers = [name for name in times if name not in keep]
        for turn in range(rounds):
            going = [name for name in peers if name in times]
            if turn > 0:
                fastest = min((statistics.median(times[name]) for name in going), default=0.0)
                going = [
                    name
                    for name in going
                    if sum(times[name]) * repeats[name] < budget
                    and statistics.median(times[name]) <= slow * fastest
                ]
                if peers and not going:
                    break
            for name in [name for name in times if name in keep or name in going]:
                if len(times[name]) <= turn and not math.isnan(taken := take(name)):
                    times[name].append(taken)
        return times

    def attempt(self, name: str, job: Callable[[], Result]) -> Result | None:
        """What *job* returns; None when the contender fails, which is then moved to `absent`."""
        try:
            return job()
        except ContenderError as failure:
            self._leave_out(name, failure)
            return None

    def _leave_out(self, name: str, failure: ContenderError) -> None:
        """Note why a contender takes no further part; its process goes if it does not answer."""
        self.absent[name] = str(failure)
        if "no answer" in str(failure):
            self._drop(name)

    def _send(self, name: str, limit: float, *job: Any) -> Any:
        if name not in self._workers:
            raise ContenderError(f"{name} is not there: {self.absent.get(name, 'never started')}")
        try:
            self._workers[name][0].send(job)
        except OSError as error:
            raise ContenderError(f"no answer: {error}") from error
        return self._answer(name, limit)

    def _answer(self, name: str, limit: float) -> Any:
        pipe, process = self._workers[name]
        try:
            if not pipe.poll(limit):
                raise ContenderError(f"no answer within {limit:.0f} s")
            fine, value = pipe.recv()
        except (EOFError, OSError) as error:
            process.join(5)
            raise ContenderError(
                f"no answer: its process ended with code {process.exitcode}"
            ) from error
        if not fine:
            raise ContenderError(value)
        return value

    def _drop(self, name: str) -> None:
        pipe, process = self._workers.pop(name)
        try:
            pipe.send(None)
            process.join(10)
        except OSError:
            pass
        if process.is_alive():
            process.kill()
        process.join()
        pipe.close()


@contextmanager
def _environment(threads: int) -> Iterator[None]:
    """What the processes inherit: as many threads as will be asked for, nothing that slows down."""
    before = dict(os.environ)
    for name in UNSET:
        os.environ.pop(name, None)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(threads)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _work(pipe: Connection, maker: Maker) -> None:
    """A contender's process: makes it, then answers one job after the other."""
    try:
        contender = maker.contender(*maker.arguments)
    except ModuleNotFoundError as error:
        pipe.send((False, f"{MISSING} ({error})"))
        return
    except Exception as error:
        traceback.print_exc()
        pipe.send((False, _reason(error)))
        return
    pipe.send((True, None))
    threads_now = 0
    while (job := pipe.recv()) is not None:
        kind, method, arguments, threads, repeats = job
        try:
            if threads != threads_now:  # takes a millisecond: only when it changes
                limit_threads(threads)
                contender.set_threads(threads)
                threads_now = threads
            run = getattr(contender, method)
            if kind == "ask":
                pipe.send((True, run(*arguments)))
                continue
            start = time.perf_counter()
            for _ in range(repeats):
                run(*arguments)
            pipe.send((True, (time.perf_counter() - start) / repeats))
        except Exception as error:
            traceback.print_exc()
            pipe.send((False, _reason(error)))


def limit_threads(threads: int) -> None:
    """Limit every BLAS and OpenMP library that is loaded in this process."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(threads)


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error)[:200]}"
