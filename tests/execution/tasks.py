"""What the tests let a cluster do; workers import this module."""

from __future__ import annotations

import errno
import importlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fastrecall.errors import InputError


def product(shared: int, task: int, threads: int) -> tuple[int, int]:
    return shared * task, threads


def sum_of_part(shared: npt.NDArray[np.float32], task: int, threads: int) -> float:
    time.sleep(0.2)
    return float(shared[task::7].sum(dtype=np.float64))


def refuse(shared: str, task: int, threads: int) -> int:
    if task == 2:
        raise InputError(f"{shared}: row {task} is bad; expected a good one")
    return task


def divide(shared: int, task: int, threads: int) -> float:
    return shared / task


def need_more(shared: None, task: str, threads: int) -> str:
    return importlib.import_module(task).__name__


@dataclass(frozen=True)
class Marks:
    """Files that tell how often each task began, on whichever node."""

    folder: Path

    def add(self, task: int) -> int:
        """One more run of *task*; how many there have been with this one."""
        (self.folder / f"{task}-{os.getpid()}-{time.time_ns()}").touch()
        return self.of(task)

    def of(self, task: int) -> int:
        return len(list(self.folder.glob(f"{task}-*")))

    def all(self) -> int:
        return len(list(self.folder.iterdir()))


def mark(marks: Marks, task: int, threads: int) -> int:
    marks.add(task)
    return task


def stumble(marks: Marks, task: int, threads: int) -> int:
    """Storage loses the file once; then it is there."""
    if marks.add(task) == 1 and task == 1:
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
    return task


def find_nothing(marks: Marks, task: int, threads: int) -> int:
    marks.add(task)
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), f"/nowhere/{task}")


def die_once(marks: Marks, task: int, threads: int) -> int:
    if marks.add(task) == 1 and task == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return task


def die_always(marks: Marks, task: int, threads: int) -> int:
    marks.add(task)
    os.kill(os.getpid(), signal.SIGKILL)
    return task


def inner_threads(shared: None, task: int, threads: int) -> dict[str, int]:
    """Threads that libraries would start in this worker by themselves."""
    import threadpoolctl

    return {
        str(pool["filepath"]): pool["num_threads"] for pool in threadpoolctl.threadpool_info()
    } | {"OMP_NUM_THREADS": int(os.environ["OMP_NUM_THREADS"])}


def write_slowly(folder: Path, task: int, threads: int) -> int:
    """A job that resumes: what is there is not made again."""
    from fastrecall._files import atomic_write

    target = folder / f"part-{task}"
    if not target.exists():
        time.sleep(0.3)
        with atomic_write(target) as file:
            file.write(f"{task} {os.getpid()}")
    return task
