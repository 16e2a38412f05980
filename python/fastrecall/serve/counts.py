"""What was delivered: counted in this process, added to a file now and then, never by a recall."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

from fastrecall._files import atomic_write
from fastrecall._lock import locked
from fastrecall.serve.answers import Delivered


class Counts:
    """Counts of this process (``now``) over those in the file of a folder.

    >>> import tempfile
    >>> counts = Counts(Path(tempfile.mkdtemp()))
    >>> counts.count(items=2, day="2024-05-31")
    >>> counts.now.items, counts.ever().items, counts.save().items, counts.ever().items
    (2, 2, 2, 2)
    """

    def __init__(self, folder: Path) -> None:
        self.now = Delivered()
        self._saved = Delivered()
        self._folder = folder
        self._path = folder / "delivered.json"

    def count(self, *, items: int, day: str) -> None:
        """Count one question and the items it got."""
        self.now = _sum(self.now, Delivered(1, int(items > 0), items, day))

    def ever(self) -> Delivered:
        """All that was ever delivered from this folder, as far as it was saved, and by this."""
        unsaved = replace(
            self.now,
            asked=self.now.asked - self._saved.asked,
            answered=self.now.answered - self._saved.answered,
            items=self.now.items - self._saved.items,
        )
        return _sum(self._stored(), unsaved)

    def save(self) -> Delivered:
        """Add what is new to the file; several servers on one folder add up.

        Raises:
            CacheError: the folder cannot be written or locked.
        """
        if self.now == self._saved:
            return self._stored()
        busy = f"another process has been writing to {self._folder} for long; try again"
        with locked(self._folder / "lock", busy=busy, wait=5.0):
            ever = self.ever()
            with atomic_write(self._path) as file:
                json.dump(asdict(ever), file)
        self._saved = self.now
        return ever

    def _stored(self) -> Delivered:
        try:
            return Delivered(**json.loads(self._path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):  # counts that cannot be read begin anew
            return Delivered()


def _sum(a: Delivered, b: Delivered) -> Delivered:
    return Delivered(
        a.asked + b.asked, a.answered + b.answered, a.items + b.items, max(a.last, b.last)
    )
