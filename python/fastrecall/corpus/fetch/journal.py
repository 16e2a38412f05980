"""Finished pages on disk, so that a fetch which was stopped at any moment goes on from there.

One file of `checked_line`s: a header, then a line a page, each on disk before the next page is
asked for. Everything from the first line on that is not what was written (a kill has cut it in two,
a disk has changed it) is dropped, and its pages asked for again.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from fastrecall import _json
from fastrecall._checked import checked_line, line_content
from fastrecall._files import write_all
from fastrecall.errors import CacheError
from fastrecall.types import Kind

VERSION = 2


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
        self._close()

    def add(self, page: Page) -> None:
        """Write a page down; it is on disk when the call returns.

        Raises:
            CacheError: the disk is full or gone.
        """
        try:
            write_all(self._file, checked_line(vars(page)))
            os.fsync(self._file.fileno())
        except OSError as error:
            raise _cannot_write(self.path, error) from error
        self._see(page)

    def last(self, kind: Kind) -> Page | None:
        """The last finished page of a kind."""
        return self._last.get(kind)

    def pages(self) -> Iterator[Page]:
        """All finished pages, in the order in which they came."""
        try:
            with self.path.open("rb") as file:
                next(file)
                for line in file:
                    page = _page_in(line)
                    if page is None:
                        raise CacheError(
                            f"{self.path} was changed while it was in use; run the same command "
                            "again: what is whole of it is kept"
                        )
                    yield page
        except OSError as error:
            raise CacheError(
                f"cannot read the journal {self.path}: {error.strerror or error}; remove it to "
                "fetch everything anew"
            ) from error

    def remove(self) -> None:
        """Forget the pages: they are stored elsewhere now."""
        self._close()
        with contextlib.suppress(OSError):
            self.path.unlink()

    def _close(self) -> None:
        with contextlib.suppress(OSError):  # every page is on disk already
            self._file.close()

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
        if _found_header(path) == header:
            _drop_what_is_not_whole(path)
            return Journal(path, header, path.open("ab", buffering=0))
        file = path.open("wb", buffering=0)
        write_all(file, checked_line(vars(header)))
        os.fsync(file.fileno())
    except OSError as error:
        raise _cannot_write(path, error) from error
    return Journal(path, header, file)


def _found_header(path: Path) -> Header | None:
    try:
        with path.open("rb") as file:
            line = file.readline()
        found = line_content(line[:-1])
        return None if found is None else _json.as_instance(Header, found)
    except (FileNotFoundError, ValueError):
        return None


def _page_in(line: bytes) -> Page | None:
    """The page in a line; None: the line is cut, or not what was written."""
    found = line_content(line[:-1]) if line.endswith(b"\n") else None
    try:
        return None if found is None else _json.as_instance(Page, found)
    except ValueError:
        return None


def _drop_what_is_not_whole(path: Path) -> None:
    """Cut the file behind its last line before the first that is not what was written."""
    with path.open("r+b") as file:
        whole = len(file.readline())
        for line in file:
            if _page_in(line) is None:
                file.truncate(whole)
                return
            whole += len(line)


def _cannot_write(path: Path, error: OSError) -> CacheError:
    return CacheError(
        f"cannot write the journal {path}: {error.strerror or error}; set FASTRECALL_DATA to a "
        "folder that can be written"
    )
