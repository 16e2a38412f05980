"""One process at a time: a lock on a file, which the system frees however the holder dies."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fastrecall.errors import CacheError

_POLL_SECONDS = 0.02


@contextlib.contextmanager
def locked(path: str | os.PathLike[str], *, busy: str, wait: float = 0.0) -> Iterator[None]:
    """Hold the lock on the file *path*, which is made when it is not there.

    Args:
        path: the file; its folder is made, too.
        busy: what to say when somebody else holds the lock.
        wait: seconds to wait for it.

    Raises:
        CacheError: *busy*, or the file cannot be made.

    >>> import tempfile
    >>> with locked(Path(tempfile.mkdtemp()) / "lock", busy="somebody else is at it"):
    ...     pass
    """
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise CacheError(
            f"cannot write {path.parent}: {error.strerror or error}; choose a folder that can be "
            "written (FASTRECALL_DATA)"
        ) from error
    try:
        until = time.monotonic() + wait
        while not _taken(descriptor, path):
            if time.monotonic() >= until:
                raise CacheError(busy)
            time.sleep(_POLL_SECONDS)
        yield
    finally:
        with contextlib.suppress(OSError):  # closed all the same, and nothing was written to it
            os.close(descriptor)


def _taken(descriptor: int, path: Path) -> bool:
    try:
        return _take(descriptor)
    except OSError as error:
        raise CacheError(
            f"cannot lock {path}: {error.strerror or error}; choose a folder on a file system that "
            "has locks (FASTRECALL_DATA)"
        ) from error


def _take(descriptor: int) -> bool:
    """Take the lock on an open file, if it is free."""
    try:
        import fcntl
    except ImportError:
        return _take_on_windows(descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _take_on_windows(descriptor: int) -> bool:
    import importlib

    msvcrt: Any = importlib.import_module("msvcrt")
    try:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    except OSError:
        return False
    return True
