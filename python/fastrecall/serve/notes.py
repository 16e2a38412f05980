"""Notes: what assistants and people asked to remember, searched like tickets."""

from __future__ import annotations

import base64
import contextlib
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from fastrecall import _json
from fastrecall.embedding import ModelInfo, embed_question
from fastrecall.errors import InputError
from fastrecall.graph import Graph
from fastrecall.search.index.by_fusion import fused
from fastrecall.search.memory import Memory
from fastrecall.search.redaction import redact
from fastrecall.serve.journal import Entry, Journal
from fastrecall.types import Vectors

LONGEST = 8000
"""Characters of a note."""

MOST_TAGS = MOST_CAUSES = 20
EDGE = "follows"
"""The type of the edges from a note to what caused it."""


@dataclass(frozen=True)
class Note:
    """Something remembered; ``caused_by`` are ids of tickets and notes."""

    id: str
    text: str
    at: int
    caused_by: tuple[str, ...]
    tags: tuple[str, ...]


_PARTS = tuple(field.name for field in fields(Note))


@dataclass(frozen=True)
class FoundNote:
    """A note, its cosine with the question, and its rank among the notes."""

    note: Note
    cosine: float
    rank: int


class Notes:
    """The notes in a folder, as all servers on it have written them so far."""

    def __init__(self, folder: Path) -> None:
        self.journal = Journal(folder)
        self._notes: dict[str, Note] = {}
        self._vectors: dict[str, Vectors] = {}
        self._memory: Memory | None = None

    def refresh(self) -> None:
        """Read what was written since, here or by another process."""
        if self.journal.refresh():
            notes = filter(None, map(_note, self.journal.entries))
            self._notes = {note.id: note for note in notes}
            self._memory = None

    def __len__(self) -> int:
        return len(self._notes)

    def get(self, id: str) -> Note | None:
        """The note of that id, if there is one."""
        return self._notes.get(id)

    def caused_by(self, id: str) -> list[Note]:
        """The notes that name *id* as their cause, in the order they were written."""
        return [note for note in self._notes.values() if id in note.caused_by]

    def add(
        self, text: str, *, caused_by: Sequence[str], tags: Sequence[str], model: ModelInfo
    ) -> Note:
        """Write a note; it is on the disk when this returns, secrets of known shapes left out.

        Raises:
            InputError: no text, or too much of it, of tags or of causes.
            CacheError: the folder cannot be written.
        """
        text = redact(text.strip()).encode("utf-8", "replace").decode()
        if not text:
            raise InputError("there is no text to remember")
        if len(text) > LONGEST:
            raise InputError(
                f"the text has {len(text):,} characters; expected at most {LONGEST:,}: what "
                "happened, why, and where to look"
            )
        if len(tags) > MOST_TAGS or any(len(tag) > 50 for tag in tags):
            raise InputError(f"expected at most {MOST_TAGS} tags of at most 50 characters")
        if len(caused_by) > MOST_CAUSES:
            raise InputError(f"expected at most {MOST_CAUSES} causes")
        vector = embed_question(text, model)
        note = Note(
            f"note-{os.urandom(4).hex()}",
            text,
            int(time.time()),
            tuple(dict.fromkeys(caused_by)),
            tuple(dict.fromkeys(redact(tag) for tag in tags)),
        )
        self.journal.append(
            {
                **vars(note),
                "model": _identity(model),
                "vector": base64.b64encode(vector.astype("<f4").tobytes()).decode(),
            }
        )
        self.refresh()
        return note

    def remove(self, id: str) -> bool:
        """Take a note off the disk; returns whether it was there."""
        removed = self.journal.remove(id)
        self.refresh()
        return removed

    def ranked(self, question: str, vector: Vectors, *, model: ModelInfo) -> list[FoundNote]:
        """The notes by meaning and words, best first."""
        if not self._notes:
            return []
        notes = list(self._notes.values())
        if self._memory is None:
            self._memory = self._built(notes, model)
        found = fused(self._memory, Graph([], [], nodes=len(notes)), question, vector)
        cosines = self._memory.vectors @ vector
        return [
            FoundNote(notes[node], float(cosines[node]), rank)
            for rank, node in enumerate(found.ids.tolist(), 1)
        ]

    def _built(self, notes: Sequence[Note], model: ModelInfo) -> Memory:
        stored = {entry["id"]: entry for entry in self.journal.entries}
        vectors = [_vector(stored[note.id], model) for note in notes]
        texts = tuple(f"{note.text}\n{' '.join(note.tags)}" for note in notes)
        return Memory(texts, np.stack(vectors), np.zeros(len(notes), np.bool_))


def _note(entry: Entry) -> Note | None:
    """The note in an entry; None: somebody else has written it."""
    try:
        return _json.as_instance(Note, {name: entry.get(name) for name in _PARTS})
    except ValueError:
        return None


def _vector(entry: Entry, model: ModelInfo) -> Vectors:
    """The vector that was stored, or a new one when another model made it."""
    if entry.get("model") == _identity(model):
        with contextlib.suppress(KeyError, TypeError, ValueError):
            vector = np.frombuffer(base64.b64decode(entry["vector"]), "<f4").astype(np.float32)
            if vector.shape == (model.dim,) and np.isfinite(vector).all():
                return vector
    return embed_question(str(entry.get("text", "")), model)


def _identity(model: ModelInfo) -> str:
    return f"{model.sha256 or model.name}/{model.pooling}/{model.max_tokens}"
