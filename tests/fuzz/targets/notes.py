"""The journal of notes. Lines that begin with ``{`` get the length and checksum they need."""

from __future__ import annotations

import zlib

import numpy as np
from tests.fuzz.common import empty_folder, expected_errors, must_hold
from tests.fuzz.mutate import json_lines as mutate

from fastrecall.embedding.models import resolve_model
from fastrecall.serve.notes import Notes

__all__ = ["mutate", "run"]

MODEL = resolve_model("fake")


def line(data: bytes) -> bytes:
    return b"%08x %08x %s" % (len(data), zlib.crc32(data), data) if data[:1] == b"{" else data


def run(data: bytes) -> None:
    folder = empty_folder("memory")
    (folder / "journal").write_bytes(b"\n".join(map(line, data.split(b"\n"))))
    with expected_errors():
        notes = Notes(folder)
        notes.refresh()
        vector = np.zeros(MODEL.dim, np.float32)
        vector[0] = 1
        found = notes.ranked("crash on empty query", vector, model=MODEL)
        must_hold(len(found) <= len(notes), "more than there are")
        must_hold(all(one.note.at + 0 == int(one.note.at) for one in found), "time")
        notes.caused_by("note-1")
        added = notes.add("the pool was not closed", caused_by=["#7"], tags=["x"], model=MODEL)
        must_hold(notes.get(added.id) == added, "the note is not there")
        must_hold(notes.remove(added.id) and notes.get(added.id) is None, "the note is still there")
