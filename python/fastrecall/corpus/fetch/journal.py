"""Finished pages on disk, so that a fetch which was stopped at any moment goes on from there.

One file of JSON lines: a header, then a line a page, each on disk before the next page is asked
for. A line that a kill has cut in two is dropped, and its page asked for again.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from fastrecall.errors import CacheError
from fastrecall.types import Kind

VERSION = 1


@dataclass(frozen=True)
class Header:
    """What a fetch set out to do.

    ``since`` None: everything; else all that was updated at or after it (seconds since 1970).
    ``base`` names the stored file that changes are added to.
    """

    since: int | None
    comments: bool
    commits: bool
    base: str
    version: int = VERSION


@dataclass(frozen=True)
class Page:
    """A finished page: ``repo`` as the server calls it, ``total`` of its kind, ``end`` cursor."""

    kind: Kind
    repo: str
    total: int
    end: str | None
    more: bool
    served_at: int
    nodes: list[dict[str, Any]]


class Journal:
    """The pages of one fetch; use as a context manager.

    ``first_served_at`` is the server's time when the first page came, -1 before; ``count`` tickets
    are on the finished pages.
    """

    def __init__(self, path: Path, header: Header, file: IO[bytes]) -> None:
        self.path = path
        self.header = header
        self._file = file
        self._last: dict[Kind, Page] = {}
        self.first_served_at = -1
        self.count = 0
        for page in self.pages():
            self._see(page)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_error: object) -> None:
        self._file.close()

    def add(self, page: Page) -> None:
        """Write a page down; it is on disk when the call returns.

        Raises:
            CacheError: the disk is full or gone.
        """
        try:
            self._file.write(_line(vars(page)))
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise _cannot_write(self.path, error) from error
        self._see(page)

    def last(self, kind: Kind) -> Page | None:
        """The last finished page of a kind."""
        return self._last.get(kind)

    def pages(self) -> Iterator[Page]:
        """All finished pages, in the order in which they came."""
        with self.path.open("rb") as file:
            next(file)
            for line in file:
                yield Page(**json.loads(line))

    def remove(self) -> None:
        """Forget the pages: they are stored elsewhere now."""
        self._file.close()
        with contextlib.suppress(OSError):
            self.path.unlink()

    def _see(self, page: Page) -> None:
        if self.first_served_at < 0:
            self.first_served_at = page.served_at
        self._last[page.kind] = page
        self.count += len(page.nodes)


def open_journal(path: Path, header: Header) -> Journal:
    """The journal of an unfinished fetch with the same aim, or a new one.

    Raises:
        CacheError: the file cannot be read or written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        found = _found_header(path)
        if found == header:
            _drop_cut_line(path)
            return Journal(path, header, path.open("ab"))
        file = path.open("wb")
        file.write(_line(vars(header)))
        file.flush()
        os.fsync(file.fileno())
    except OSError as error:
        raise _cannot_write(path, error) from error
    return Journal(path, header, file)


def _found_header(path: Path) -> Header | None:
    try:
        with path.open("rb") as file:
            line = file.readline()
        return Header(**json.loads(line)) if line.endswith(b"\n") else None
    except (FileNotFoundError, ValueError, TypeError):
        return None


def _drop_cut_line(path: Path) -> None:
    """Cut the file behind its last whole line."""
    whole = 0
    with path.open("r+b") as file:
        for line in file:
            try:
                if not line.endswith(b"\n"):
                    break
                json.loads(line)
            except ValueError:
                break
            whole += len(line)
        file.truncate(whole)


def _line(value: dict[str, Any]) -> bytes:
    # ASCII keeps the lone surrogates that a server may send, and every line is one line.
    return json.dumps(value, separators=(",", ":")).encode("ascii") + b"\n"


def _cannot_write(path: Path, error: OSError) -> CacheError:
    return CacheError(
        f"cannot write the journal {path}: {error.strerror or error}; set FASTRECALL_DATA to a "
        "folder that can be written"
    )
