"""What a big job asks of whatever runs its tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

Shared = TypeVar("Shared")
Task = TypeVar("Task")
Result = TypeVar("Result")


class Executor(Protocol):
    """Runs independent tasks, wherever.

    What is big stays in files that every task can read: tasks name paths and row ranges, and what
    they return is small, or the name of a file that they wrote.
    """

    @property
    def threads(self) -> int:
        """How many threads a task may use."""

    def map(
        self,
        function: Callable[[Shared, Task, int], Result],
        tasks: Iterable[Task],
        *,
        shared: Shared,
    ) -> Iterator[Result]:
        """The results of ``function(shared, task, threads)``, in the order of *tasks*.

        Args:
            function: a function of a module, so that another process can find it. It may be run
                again for the same task when its machine is lost, so it must be repeatable.
            tasks: read only as fast as results are taken.
            shared: what all tasks need, such as the vectors of the questions; sent once.

        Arrays that come from another process, in *shared* as in results, may be read-only.
        """
