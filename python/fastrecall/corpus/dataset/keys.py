"""The first pass over a source: a short row for every record, put where equal numbers meet."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fastrecall.corpus.build import canonical_ticket
from fastrecall.types import Ticket

ROW = np.dtype(
    [
        ("record", np.int64),
        ("repo", np.int32),
        ("number", np.int32),
        ("created_at", np.int64),
        ("updated_at", np.int64),
        ("size", np.int32),
        ("flags", np.uint8),
        ("digest", np.void, 16),
    ]
)
"""What is kept of a record: its place among all (from 0), its key, a digest of what it says."""

PR, MECHANICAL, UNTITLED, TELLS_CLOSES = 1, 2, 4, 8
"""Bits of ``flags``; a mechanical PR is one that the author filter drops."""

BUCKETS = 64
_ROWS_HELD = 1 << 16

Rows = npt.NDArray[np.void]


class KeyFiles:
    """The rows of all records, in files of *folder*: one for each remainder of the number.

    A ticket and whatever repeats it are in the same one. ``repos`` are the repositories as they
    came; a row's ``repo`` is the place of its own among them.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._paths = [folder / f"keys-{bucket:02}" for bucket in range(BUCKETS)]
        self._held = np.zeros(_ROWS_HELD, ROW)
        self._count = 0
        self._places: dict[str, int] = {}

    @property
    def repos(self) -> list[str]:
        """The repositories, in order of appearance."""
        return list(self._places)

    def add(self, record: int, ticket: Ticket, updated_at: int, *, mechanical: bool) -> None:
        """Take the ticket of a record."""
        said = canonical_ticket(ticket).encode("utf-8", "surrogatepass")
        flags = PR if ticket.kind == "pr" else 0
        flags |= MECHANICAL if mechanical else 0
        flags |= 0 if ticket.title.strip() else UNTITLED
        flags |= 0 if ticket.closes is None else TELLS_CLOSES
        self._held[self._count] = (
            record,
            self._places.setdefault(ticket.repo, len(self._places)),
            ticket.number,
            ticket.created_at,
            updated_at,
            min(len(said), np.iinfo(np.int32).max),
            flags,
            hashlib.blake2b(said, digest_size=16).digest(),
        )
        self._count += 1
        if self._count == _ROWS_HELD:
            self.flush()

    def flush(self) -> None:
        """Write what is held."""
        rows = self._held[: self._count]
        buckets = rows["number"] % BUCKETS
        for bucket in np.unique(buckets).tolist():
            with self._paths[bucket].open("ab") as file:
                rows[buckets == bucket].tofile(file)
        self._count = 0

    def bucket(self, number: int) -> Rows:
        """The rows of one file, in the order in which they were added."""
        path = self._paths[number]
        return np.fromfile(path, ROW) if path.exists() else np.zeros(0, ROW)
