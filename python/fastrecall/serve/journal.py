"""What was remembered, on disk: one line an entry, each with its length and checksum.

Lines are `checked_line`s: whatever happened to one, the next one is found. Whoever writes holds the
lock, and an entry counts once it is on the disk. A line that a dying process left unfinished is
closed by the next writer and stays, as damage that is told.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from fastrecall._checked import checked_line, line_content
from fastrecall._files import atomic_write, remove_leftovers, sync_folder, write_all
from fastrecall._lock import locked
from fastrecall.errors import CacheError

Entry = dict[str, Any]

_WAIT_SECONDS = 10.0
_TAIL_BYTES = 256
"""How much of what was read last is compared, to notice that the file was rewritten."""


class Journal:
    """The entries in a folder, as far as this process has read them.

    ``entries`` are in the order of writing; ``damaged`` counts lines that are not what was written.

    >>> import tempfile
    >>> journal = Journal(Path(tempfile.mkdtemp()))
    >>> journal.append({"id": "a"})
    >>> Journal(journal.folder).refresh(), journal.refresh(), journal.entries
    (True, True, [{'id': 'a'}])
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "journal"
        self.entries: list[Entry] = []
        self.damaged = 0
        self._read = 0
        self._tail = b""

    def refresh(self) -> bool:
        """Read what was written since, by anybody; returns whether there was something.

        Raises:
            CacheError: the file cannot be read.
        """
        try:
            with self.path.open("rb") as file:
                file.seek(self._read - len(self._tail))
                data = file.read()
                rewritten = not data.startswith(self._tail)
                if rewritten:
                    file.seek(0)
                    data = file.read()
        except FileNotFoundError:
            rewritten, data = self._read > 0, b""
        except OSError as error:
            raise CacheError(f"cannot read {self.path}: {error.strerror or error}") from error
        if rewritten:
            self.entries, self.damaged, self._read = [], 0, 0
        else:
            data = data[len(self._tail) :]
        # What has no end yet is being written, or its writer died: wait for its end.
        whole = data.rfind(b"\n") + 1
        self._read += whole
        self._tail = (b"" if rewritten else self._tail) + data[:whole]
        self._tail = self._tail[-_TAIL_BYTES:]
        for line in data[:whole].split(b"\n"):
            entry = _entry(line)
            if entry is not None:
                self.entries.append(entry)
            elif line:
                self.damaged += 1
        return rewritten or whole > 0

    def append(self, entry: Entry) -> None:
        """Write an entry; it is on the disk when this returns.

        Raises:
            CacheError: the disk is full, or the folder cannot be written or locked.
        """
        with self._lock():
            try:
                with self.path.open("ab", buffering=0) as file:
                    torn = file.tell() and not self._ends_whole()
                    write_all(file, (b"\n" if torn else b"") + checked_line(entry))
                    os.fsync(file.fileno())
                sync_folder(self.folder)
            except OSError as error:
                raise CacheError(f"cannot write {self.path}: {error.strerror or error}") from error

    def remove(self, id: str) -> bool:
        """Take the entry of that id off the disk; returns whether it was there.

        All other lines stay as they are, damaged ones too.

        Raises:
            CacheError: the folder cannot be written or locked.
        """
        with self._lock():
            try:
                lines = self.path.read_bytes().rstrip(b"\n").split(b"\n")
            except FileNotFoundError:
                return False
            except OSError as error:
                raise CacheError(f"cannot read {self.path}: {error.strerror or error}") from error
            keep = [line for line in lines if (_entry(line) or {}).get("id") != id]
            if len(keep) == len(lines):
                return False
            remove_leftovers(self.folder, self.path.name)
            with atomic_write(self.path, binary=True) as file:
                file.write(b"".join(line + b"\n" for line in keep))
            return True

    def _lock(self) -> Any:
        busy = f"another process has been writing to {self.folder} for long; try again"
        return locked(self.folder / "lock", busy=busy, wait=_WAIT_SECONDS)

    def _ends_whole(self) -> bool:
        with self.path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read() == b"\n"


def _entry(line: bytes) -> Entry | None:
    """The entry in a line; None: the line is not what was written."""
    entry = line_content(line)
    return entry if entry is not None and isinstance(entry.get("id"), str) else None
