"""Where the independent tasks of a big job run: in this process, or on a cluster."""

from fastrecall.execution.base import Executor
from fastrecall.execution.local import LocalExecutor

__all__ = ["Executor", "LocalExecutor"]
