"""Work in a forked child, with an end: a child that hangs is killed and fails the test."""

from __future__ import annotations

import os
import signal
import time
import traceback
import warnings
from collections.abc import Callable

import pytest

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


def in_child(work: Callable[[], object], *, seconds: float = 60) -> str:
    """The text that *work* returned in a forked child."""
    readable, writable = os.pipe()
    with warnings.catch_warnings():  # Python 3.12 and later warn of forks beside threads
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            answer = str(work())
        except BaseException:
            answer = traceback.format_exc()
        os.write(writable, answer.encode())
        os._exit(0)
    os.close(writable)
    end = time.monotonic() + seconds
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(readable)
            pytest.fail(f"the forked child did not end within {seconds} s")
        time.sleep(0.01)
    with os.fdopen(readable, "rb") as pipe:
        return pipe.read().decode()
