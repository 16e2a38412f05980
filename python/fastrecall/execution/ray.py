"""Tasks on a Ray cluster: Ray places them, moves their results and replaces lost workers."""

from __future__ import annotations

import errno
import functools
import itertools
import logging
import os
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from fastrecall import _core
from fastrecall._lazy import require
from fastrecall._term import note
from fastrecall._threads import resolve_threads, usable_cores
from fastrecall.errors import FastrecallError, InputError, RemoteError
from fastrecall.execution.base import Result, Shared, Task

_AHEAD = 2
"""Tasks handed out for each that can run: the next one waits beside its worker, no more do."""
_RETRIES = 5
"""Runs beyond the first; a task that takes its worker down every time must come to an end."""
_PAUSE_S = 1.0
"""Between a transient failure and the next try."""
_PATIENCE_S = 60.0
"""How long there may be no node that could run a task: one that restarts or is being bought."""
_UNSURE_S = 20.0
"""How long after the loss of a node was noticed a task may still be believed to run."""
_LOOK_EVERY_S = 5.0
_ANSWER_WITHIN_S = 5.0
_STORE_BYTES = 512 << 20
"""Ray's object store on a node that is started here: what tasks share and return is small."""

_TRANSIENT = {
    getattr(errno, name)
    for name in (
        "EIO", "ESTALE", "ENETDOWN", "ENETUNREACH", "EHOSTDOWN", "EHOSTUNREACH"
    )
    if hasattr(errno, name)
}  # fmt: skip
"""What shared storage says when it hiccups; besides time-outs and lost connections."""


class RayExecutor:
    """Runs tasks on a Ray cluster, several at a time, and gives their results in order.

    A task is run again when its worker or node is lost, or when shared storage fails for a moment,
    up to five times. One that does not come back for a while after a node was lost is handed out
    once more, in case Ray waits for that node; the first result counts. Every other error ends the
    map, as the error that it was. At most two tasks for each that can run are handed out at once.
    When results are no longer wanted, those still run to their end, or are stopped with this
    process; what finished tasks wrote stays.

    Args:
        address: ``host:port`` of the cluster's head, seen from one of its nodes; ``auto`` for the
            cluster of this machine; ``ray://host:port`` through a Ray client server; ``local``
            starts Ray on this machine alone. When ``None``, the variable ``RAY_ADDRESS``, or else
            ``local``. A process that is already connected keeps its connection.
        threads: CPUs that a task takes, and threads that it may use.
        memory: bytes that a node must have for a task, so that not more share one than fit; any
            number when ``None``.

    Raises:
        MissingExtraError: Ray is not installed.
        InputError: an address that is none, or a count below 1.
        RemoteError: no cluster answers, or it cannot be used from here.
    """

    def __init__(
        self, *, address: str | None = None, threads: int = 1, memory: int | None = None
    ) -> None:
        self.threads = resolve_threads(threads)
        self.memory = memory
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # read by what Ray starts: no telemetry
        self._ray: Any = require("ray", extra="ray", purpose="running on a cluster")
        self._opened = not self._ray.is_initialized()
        if self._opened:
            _connect(self._ray, address, cores=max(self.threads, usable_cores()))

    def __enter__(self) -> RayExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave the cluster, or end the Ray that was started here; not what was there before."""
        if self._opened:
            self._ray.shutdown()

    def map(
        self,
        function: Callable[[Shared, Task, int], Result],
        tasks: Iterable[Task],
        *,
        shared: Shared,
    ) -> Iterator[Result]:
        """See `Executor.map`.

        Raises:
            InputError: no node has as many CPUs, or as much memory, as a task takes.
            RemoteError: a task lost its worker too often, or the cluster is gone or was left.
        """
        if not self._ray.is_initialized():  # Ray would start anew, and elsewhere
            raise RemoteError("the connection to the Ray cluster is closed")
        places = _Places(self._ray, self.threads, self.memory)
        run = self._ray.remote(_run).options(
            name=getattr(function, "__qualname__", "task"),
            num_cpus=self.threads,
            memory=self.memory,
            max_retries=_RETRIES,
            retry_exceptions=[_TransientError],
        )
        errors = self._ray.exceptions
        try:
            yield from self._results(run, function, tasks, shared, places)
        except errors.RayTaskError as error:
            raise _error_of(error) from error
        except errors.RayError as error:
            raise RemoteError(
                f"a task was given up on the cluster ({type(error).__name__}: "
                f"{_first_line(error)}); see Ray's logs, give tasks less memory or more CPUs, and "
                "run again: what was finished is kept"
            ) from error

    def _results(
        self, run: Any, function: Any, tasks: Iterable[Any], shared: Any, places: _Places
    ) -> Iterator[Any]:
        sent_once = self._ray.put(shared)
        waiting = iter(tasks)
        handed_out: deque[_HandedOut] = deque()
        while True:
            room = max(1, _AHEAD * places.count()) - len(handed_out)
            for task in itertools.islice(waiting, max(0, room)):
                start = functools.partial(
                    run.remote, _core.__version__, function, sent_once, task, self.threads
                )
                handed_out.append(_HandedOut(start, [start()], places.lost))
            if not handed_out:
                return
            # Tasks that are not wanted any more are left to end: they are few, and cancelling one
            # that ends at that moment aborts this process (a failed check in Ray 2.60).
            yield self._result(handed_out.popleft(), places)

    def _result(self, task: _HandedOut, places: _Places) -> Any:
        ray, errors = self._ray, self._ray.exceptions
        doubted_from = float("inf")
        while True:
            finished, _ = ray.wait(task.runs, num_returns=1, timeout=_LOOK_EVERY_S)
            if finished:
                try:
                    return ray.get(finished[0])
                except errors.RayTaskError:
                    raise
                except errors.RayError:
                    if len(task.runs) == 1:
                        raise
                    task.runs.remove(finished[0])  # another run of the task may end well
                    continue
            places.count()
            if places.lost > task.lost_before:
                task.lost_before = places.lost
                doubted_from = time.monotonic() + _UNSURE_S
            elif time.monotonic() > doubted_from:
                doubted_from = float("inf")
                task.runs.append(task.start())


@dataclass
class _HandedOut:
    """A task on the cluster: what starts it, its runs, how many nodes had been lost before."""

    start: Callable[[], Any]
    runs: list[Any]
    lost_before: int


class _Places:
    """How many tasks the nodes of a cluster can run at once; nodes come and go.

    ``lost`` counts the nodes that have gone.
    """

    def __init__(self, ray: Any, threads: int, memory: int | None) -> None:
        self._ray, self._threads, self._memory = ray, threads, memory
        self.lost = 0
        self._alive: set[str] = set()
        self._count = 0
        self._looked = float("-inf")
        self._none_since: float | None = None

    def count(self) -> int:
        """Tasks at once; looked up again only after some seconds.

        Raises:
            InputError: there are nodes, and from the beginning a task was too big for each.
            RemoteError: there has been no node with room for a minute.
        """
        now = time.monotonic()
        if now - self._looked < _LOOK_EVERY_S:
            return self._count
        alive = {node["NodeID"]: node["Resources"] for node in self._ray.nodes() if node["Alive"]}
        self.lost += len(self._alive - alive.keys())
        self._alive = set(alive)
        nodes = [node for node in alive.values() if node.get("CPU")]
        before = self._count
        self._looked, self._count = now, sum(map(self._fit, nodes))
        if self._count:
            self._none_since = None
        elif nodes and not before and self._none_since is None:
            raise InputError(self._too_big(nodes))
        elif self._none_since is None:
            self._none_since = now
            note(f"no node of the Ray cluster has {self._wanted}; waiting for one")
        elif now - self._none_since > _PATIENCE_S:
            raise RemoteError(
                f"no node of the Ray cluster has had {self._wanted} for {_PATIENCE_S:.0f} seconds; "
                "start one and run again: what was finished is kept"
            )
        return self._count

    def _fit(self, node: dict[str, float]) -> int:
        tasks = int(node["CPU"] // self._threads)
        return min(tasks, int(node.get("memory", 0) // self._memory)) if self._memory else tasks

    @property
    def _wanted(self) -> str:
        memory = f" and {self._memory:,} bytes of memory" if self._memory else ""
        return f"{self._threads} CPUs{memory}"

    def _too_big(self, nodes: list[dict[str, float]]) -> str:
        largest = f"{max(int(node['CPU']) for node in nodes)} CPUs"
        if self._memory:
            largest += f" or {max(int(node.get('memory', 0)) for node in nodes):,} bytes"
        return (
            f"a task takes {self._wanted}, and no node of the Ray cluster has more than {largest}; "
            "lower --threads or --memory, or add larger nodes"
        )


class _TransientError(Exception):
    """Holds an error that another try may not meet."""


def _run(version: str, function: Callable[..., Any], shared: Any, task: Any, threads: int) -> Any:
    """One task, in a worker."""
    if version != _core.__version__:
        raise RemoteError(
            f"a worker has fastrecall {_core.__version__}, and {version} asks; install the same "
            "version on every node"
        )
    try:
        return function(shared, task, threads)
    except Exception as error:
        if not _is_transient(error):
            raise
        time.sleep(_PAUSE_S)
        raise _TransientError(error) from error


def _is_transient(error: BaseException) -> bool:
    """Whether storage or the network failed, itself or as the reason of another error."""
    reason: BaseException | None = error
    while reason is not None:
        if isinstance(reason, (ConnectionError, TimeoutError)):
            return True
        if isinstance(reason, OSError) and reason.errno in _TRANSIENT:
            return True
        reason = reason.__cause__
    return False


def _error_of(error: Any) -> BaseException:
    """What a task raised, or why it could not begin."""
    cause: BaseException = error.cause
    if isinstance(cause, _TransientError):
        [cause] = cause.args
    if isinstance(cause, ImportError) and not isinstance(cause, FastrecallError):
        return RemoteError(
            f"a worker cannot import what its task needs ({_first_line(cause)}); install the same "
            "packages on every node"
        )
    return cause


def _connect(ray: Any, address: str | None, *, cores: int) -> None:
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    settings: dict[str, Any] = {}
    if address == "local":
        settings = {
            "num_cpus": cores,
            "include_dashboard": False,
            "object_store_memory": _STORE_BYTES,
        }
    elif address != "auto":
        _knock(address)
    try:
        # Workers' talk stays in Ray's log files: it would come out on stdout, which is for data.
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **settings)
        # So would words about lost nodes, which no option turns off: what `print_worker_logs` asks.
        ray._private.worker._worker_logs_enabled = False
    except Exception as error:  # Ray raises anything, also bare Exception
        reason = _first_line(error.__cause__ or error)
        if "InvalidAuthToken" in f"{error}{error.__cause__}":
            reason = "it asks for its token; set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN"
        raise RemoteError(f"the Ray cluster at {address} cannot be used: {reason}") from error


def _knock(address: str) -> None:
    """See within seconds that something speaks gRPC there; Ray itself tries for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        raise InputError(
            f"address is {address!r}; expected host:port, ray://host:port, auto or local"
        )
    what = f"no Ray cluster answers at {address}"
    try:
        with socket.create_connection((host.strip("[]"), int(port)), _ANSWER_WITHIN_S) as door:
            door.settimeout(_ANSWER_WITHIN_S)
            if os.environ.get("RAY_USE_TLS") == "1":
                return
            # The opening of HTTP/2 with empty settings; a server answers with its own (type 4).
            door.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0)))
            answer = door.recv(9)
    except (OSError, OverflowError) as error:
        raise RemoteError(f"{what}: {error}; see `ray status` on its head") from error
    if answer[3:4] != b"\x04":
        raise RemoteError(f"{what}: another kind of server is there; the usual port is 6379")


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".")
