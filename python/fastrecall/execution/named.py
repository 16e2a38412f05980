"""Executors by the names that people choose them by."""

from __future__ import annotations

from fastrecall.errors import InputError
from fastrecall.execution.local import LocalExecutor
from fastrecall.execution.ray import RayExecutor

EXECUTORS = ("local", "ray")


def executor_named(
    name: str,
    *,
    address: str | None = None,
    threads: int | None = None,
    memory: int | None = None,
) -> LocalExecutor | RayExecutor:
    """The executor called *name*; close it, or use it in a ``with`` statement.

    Args:
        name: ``local`` or ``ray``.
        address: the cluster, as `RayExecutor` understands it; for ``ray`` only.
        threads: threads of a task. Default: all usable cores for ``local``, one for ``ray``, where
            many tasks share a node.
        memory: bytes of a task, by which ``ray`` places them; see `RayExecutor`.

    Raises:
        InputError: no such executor, an address for ``local``, or a count below 1.
        MissingExtraError, RemoteError: as `RayExecutor`.

    >>> list(executor_named("local").map(lambda shared, task, threads: task, [1, 2], shared=None))
    [1, 2]
    """
    if name == "local":
        if address is not None:
            raise InputError(
                f"address is {address!r} and the executor is local; add --executor ray"
            )
        return LocalExecutor(threads=threads)
    if name == "ray":
        return RayExecutor(
            address=address, threads=1 if threads is None else threads, memory=memory
        )
    raise InputError(f"executor is {name!r}; expected one of: {', '.join(EXECUTORS)}")
