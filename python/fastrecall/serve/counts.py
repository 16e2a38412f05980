"""What was delivered: counted in this process, added to a file soon after, never by a recall."""

from __future__ import annotations

import json
import re
import threading
from dataclasses import asdict
from pathlib import Path

from fastrecall import _json
from fastrecall._checked import sealed, unsealed
from fastrecall._files import atomic_write, remove_leftovers
from fastrecall._lock import locked
from fastrecall.errors import CacheError
from fastrecall.serve.answers import Delivered

SAVED_AFTER = 1.0
"""Seconds that a count waits for others before it is saved: what a killed server loses at most."""

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class Counts:
    """Counts of this process (``now``) over those in the file of a folder.

    Counts that are not what was written begin anew; ``damage`` tells of it.

    >>> import tempfile
    >>> counts = Counts(Path(tempfile.mkdtemp()))
    >>> counts.count(items=2, day="2024-05-31")
    >>> counts.now.items, counts.ever().items, counts.save().items, counts.ever().items
    (2, 2, 2, 2)
    """

    def __init__(self, folder: Path) -> None:
        self.now = Delivered()
        self.failure = ""
        self._saved = Delivered()
        self._folder = folder
        self._path = folder / "delivered.json"
        self._one_at_a_time = threading.Lock()
        self._counted = threading.Event()
        self._closed = threading.Event()
        self._keeper: threading.Thread | None = None
        self.damage = ""

    def count(self, *, items: int, day: str) -> None:
        """Count one question and the items it got."""
        with self._one_at_a_time:
            self.now = _sum(self.now, Delivered(1, int(items > 0), items, day))
        self._counted.set()

    def ever(self) -> Delivered:
        """All that was ever delivered from this folder, as far as it was saved, and by this.

        Raises:
            CacheError: the file is there and cannot be read.
        """
        with self._one_at_a_time:
            return _sum(self._stored(), self._unsaved())

    def save(self) -> Delivered:
        """Add what is new to the file; several servers on one folder add up.

        Raises:
            CacheError: the folder cannot be written or locked.
        """
        with self._one_at_a_time:
            if self.now == self._saved:
                return self._stored()
            busy = f"another process has been writing to {self._folder} for long; try again"
            with locked(self._folder / "lock", busy=busy, wait=5.0):
                ever = _sum(self._stored(), self._unsaved())
                remove_leftovers(self._folder, self._path.name)
                with atomic_write(self._path) as file:
                    json.dump(sealed(asdict(ever)), file)
            self._saved = self.now
            return ever

    def keep_saving(self) -> None:
        """From now on save by itself, `SAVED_AFTER` a count; ``failure`` says why it could not."""
        self._keeper = threading.Thread(target=self._keep, name="counts", daemon=True)
        self._keeper.start()

    def close(self) -> None:
        """Save for the last time, as far as the folder lets it."""
        self._closed.set()
        self._counted.set()
        if self._keeper is not None:
            self._keeper.join()
        self._try_to_save()

    def _keep(self) -> None:
        while not self._closed.is_set():
            self._counted.wait()
            self._closed.wait(SAVED_AFTER)
            self._counted.clear()
            self._try_to_save()

    def _try_to_save(self) -> None:
        try:
            self.save()
        except CacheError as error:
            self.failure = str(error)
        else:
            self.failure = ""

    def _unsaved(self) -> Delivered:
        now, saved = self.now, self._saved
        return Delivered(
            now.asked - saved.asked,
            now.answered - saved.answered,
            now.items - saved.items,
            now.last,
        )

    def _stored(self) -> Delivered:
        try:
            stored = _json.as_instance(
                Delivered, unsealed(_json.loads(self._path.read_text(encoding="utf-8")))
            )
            if not _can_be(stored):
                raise ValueError("counts of nothing that was delivered")
        except (FileNotFoundError, NotADirectoryError):
            return Delivered()
        except ValueError:
            self.damage = f"the counts in {self._path} were damaged and began anew"
            return Delivered()
        except OSError as error:
            raise CacheError(f"cannot read {self._path}: {error.strerror or error}") from error
        return stored


def _can_be(counts: Delivered) -> bool:
    """Whether questions, answers and items can come to these counts."""
    is_day = not counts.last or _DAY.fullmatch(counts.last) is not None
    return is_day and 0 <= counts.answered <= counts.asked and counts.items >= counts.answered


def _sum(a: Delivered, b: Delivered) -> Delivered:
    return Delivered(
        a.asked + b.asked, a.answered + b.answered, a.items + b.items, max(a.last, b.last)
    )
