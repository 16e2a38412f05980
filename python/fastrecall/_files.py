"""Files that are either whole or not there: write beside, fsync, rename."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from fastrecall.errors import CacheError, InputError

_OWN_STREAMS = re.compile(
    r"/dev/(?P<name>stdout|stderr)|/(?:dev|proc/self)/fd/(?P<number>\d{1,9})", re.ASCII
)


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str], *, binary: bool = False) -> Iterator[IO[Any]]:
    r"""Open a file that appears under *path* only when the block ends without an error.

    Text is UTF-8 with ``\n``, and half a character (a lone surrogate, as servers may send them) is
    spelt out as JSON does it, ``\ud800``; with ``binary`` the handle takes bytes. Missing parent
    folders are made, a link is followed, and a device or pipe is written as it is. An error inside
    the block leaves the old file, or none.

    Raises:
        CacheError: the folder cannot be made or written.

    >>> import tempfile, pathlib
    >>> target = pathlib.Path(tempfile.mkdtemp()) / "note.txt"
    >>> with atomic_write(target) as file:
    ...     _ = file.write("whole")
    >>> target.read_text()
    'whole'
    """
    path = Path(path)
    stream = _OWN_STREAMS.fullmatch(str(path))
    if stream or (path.exists() and not path.is_file() and not path.is_dir()):
        # A device or a pipe: nothing to replace, and it must not become a file. Nor must the file
        # that a stream of this process leads to be another one for what the stream takes later.
        try:
            with _plain(_copy_of(stream) if stream else path, binary) as file:
                yield file
        except BrokenPipeError:
            raise
        except OSError as error:
            raise _cannot_write(path, error) from error
        return
    if path.is_symlink():
        path = path.resolve()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise _cannot_write(path, error) from error
    try:
        with _plain(descriptor, binary) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes private files; give the permissions a plain open() would have given.
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(beside, 0o666 & ~umask)  # noqa: PTH101
        os.replace(beside, path)  # noqa: PTH105
        sync_folder(path.parent)
    except OSError as error:
        _remove(beside)
        raise _cannot_write(path, error) from error
    except BaseException:
        _remove(beside)
        raise


def _copy_of(stream: re.Match[str]) -> int:
    """A descriptor that goes on where the stream stands."""
    sys.stdout.flush()
    return os.dup(int(stream["number"] or ("1" if stream["name"] == "stdout" else "2")))


def _plain(where: Path | int, binary: bool) -> IO[Any]:
    if binary:
        return open(where, "wb")  # noqa: PTH123 - also takes a descriptor
    return open(  # noqa: PTH123
        where, "w", encoding="utf-8", errors="backslashreplace", newline="\n"
    )


def expanded(place: str | os.PathLike[str]) -> Path:
    """The path with the home folder that a ``~`` at its beginning means.

    Raises:
        InputError: there is no such user, or no home folder is known.

    >>> expanded("a/~b").as_posix()
    'a/~b'
    """
    try:
        return Path(place).expanduser()
    except RuntimeError as error:
        raise InputError(
            f"{os.fspath(place)!r}: no home folder is known for its first part; give the whole path"
        ) from error


def remove_leftovers(folder: Path, name: str, *, idle_s: float = 0.0) -> None:
    """Remove what killed writers of *name* (a pattern) left beside it.

    Only for whoever holds a lock, so that nobody is writing; or who says for how long nobody may
    have done so, in seconds.
    """
    for beside in folder.glob(f".{name}.*"):
        with contextlib.suppress(OSError):  # it has gone already
            if not idle_s or time.time() - beside.stat().st_mtime > idle_s:
                beside.unlink()


def write_all(file: IO[bytes], data: bytes) -> None:
    """Write every byte to an unbuffered file, however little of it a call takes.

    Raises:
        OSError: the disk is full or gone; a part may have been written.
    """
    view = memoryview(data)
    while view:
        view = view[file.write(view) or 0 :]


def sync_folder(folder: Path) -> None:
    """Make what was made or renamed in a folder durable; not every platform can open one."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _remove(beside: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(beside)  # noqa: PTH108


def _cannot_write(path: Path, error: OSError) -> CacheError:
    return CacheError(
        f"cannot write {path}: {error.strerror or error}; choose a folder that can be written"
    )
