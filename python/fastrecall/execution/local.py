"""One task after the other, in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from fastrecall._threads import resolve_threads
from fastrecall.execution.base import Result, Shared, Task


class LocalExecutor:
    """Runs a task at a time, with all the threads there are.

    >>> def times(shared, task, threads):
    ...     return shared * task
    >>> list(LocalExecutor(threads=1).map(times, [1, 2], shared=10))
    [10, 20]
    """

    def __init__(self, *, threads: int | None = None) -> None:
        self.threads = resolve_threads(threads)

    def __enter__(self) -> LocalExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing was opened: for symmetry with clusters."""

    def map(
        self,
        function: Callable[[Shared, Task, int], Result],
        tasks: Iterable[Task],
        *,
        shared: Shared,
    ) -> Iterator[Result]:
        """See `Executor.map`."""
        for task in tasks:
            yield function(shared, task, self.threads)
