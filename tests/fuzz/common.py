"""What the Python targets share: a scratch file, what may be raised, what counts as a finding."""

from __future__ import annotations

import shutil
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import fastrecall
from fastrecall.errors import FastrecallError

_MEMORY = Path("/dev/shm")
PACKAGE = str(Path(fastrecall.__file__).parent)


class WrongValueError(AssertionError):
    """An input was accepted, and what came out of it is not what it says."""


def must_hold(condition: object, what: str) -> None:
    """Raise `WrongValueError` unless *condition* is true."""
    if not condition:
        raise WrongValueError(what)


@contextmanager
def expected_errors() -> Iterator[None]:
    """A clear refusal is no finding; every other exception is."""
    with suppress(FastrecallError):
        yield


@cache
def scratch_folder() -> Path:
    """A folder of this process alone, in memory where that is to be had."""
    parent = _MEMORY if _MEMORY.is_dir() else None
    return Path(tempfile.mkdtemp(prefix="fastrecall-fuzz-", dir=parent))


def scratch_file(name: str, data: bytes) -> Path:
    """A file that holds *data*."""
    path = scratch_folder() / name
    path.write_bytes(data)
    return path


def empty_folder(name: str) -> Path:
    """A folder with nothing in it."""
    path = scratch_folder() / name
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    return path


def place_of(error: BaseException) -> str:
    """Where in the package an exception came from: findings with the same place are one."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if frame.filename.startswith(PACKAGE)] or list(frames)
    last = inside[-1]
    what = f"-{error}" if isinstance(error, WrongValueError) else ""
    name = f"{type(error).__name__}-{Path(last.filename).stem}-{last.lineno}{what}"
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in name)[:120]
