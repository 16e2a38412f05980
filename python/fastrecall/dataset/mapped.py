"""A file in the address space: read without a copy, its pages given back between blocks."""

from __future__ import annotations

import mmap
from pathlib import Path

_RELEASE_AFTER_BYTES = 32 << 20
"""Pages that were touched count as this process's memory until it gives them back. Much less, and
reading row after row would fault the same pages in again and again."""


class MappedFile:
    """A read-only map of a whole file; it ends when the last array that looks into it is gone.

    A file that is cut short while it is mapped kills its readers (SIGBUS), as with every map: files
    must be replaced, not overwritten.

    Raises:
        OSError: the file cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            # An empty file cannot be mapped.
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if _size(path) else b""
        self._touched = 0

    @property
    def buffer(self) -> memoryview:
        """The bytes of the file."""
        return memoryview(self._map)

    def touched(self, nbytes: int) -> None:
        """Count bytes that are about to be read; gives the pages of earlier reads back.

        Arrays that look into the map stay valid: their pages come again when they are looked at.
        """
        self._touched += nbytes
        if self._touched > _RELEASE_AFTER_BYTES:
            self._touched = nbytes
            if isinstance(self._map, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
                self._map.madvise(mmap.MADV_DONTNEED)


def _size(path: Path) -> int:
    return path.stat().st_size
