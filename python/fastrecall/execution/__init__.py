"""Where the independent tasks of a big job run: in this process, or on a cluster."""

from fastrecall.execution.base import Executor
from fastrecall.execution.local import LocalExecutor
from fastrecall.execution.named import EXECUTORS, executor_named
from fastrecall.execution.ray import RayExecutor

__all__ = ["EXECUTORS", "Executor", "LocalExecutor", "RayExecutor", "executor_named"]
