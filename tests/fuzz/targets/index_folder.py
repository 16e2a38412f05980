"""The folder of an index. An input changes one file of a small index that was built here:

``name`` line, then ``=`` and the new content, or ``^`` and changes as (offset, byte) in 3 bytes
each. Checksums are made to fit. What opens must answer questions.
"""

from __future__ import annotations

import json
import shutil
import zlib
from functools import cache
from pathlib import Path

from tests.fuzz.common import empty_folder, expected_errors, must_hold, scratch_folder
from tests.fuzz.mutate import json_text

from fastrecall.corpus import corpus_from_records
from fastrecall.search.answer import Filters, ask, find_ticket
from fastrecall.search.index.build import build_index
from fastrecall.search.index.opening import open_index
from fastrecall.search.index.place import MANIFEST, digest_of

ISSUES = [
    {"number": n, "title": f"Crash in part {n}", "createdAt": "2024-05-31T12:00:00Z",
     "body": f"parseHeader fails with E{n:04}", "state": "CLOSED", "author": {"login": "ann"}}
    for n in (1, 2, 3)
]  # fmt: skip
PRS = [
    {"number": n + 10, "title": f"Fix part {n}", "createdAt": "2024-06-01T12:00:00Z",
     "body": f"Closes #{n}", "author": {"login": "bob"}}
    for n in (1, 2, 3)
]  # fmt: skip


@cache
def whole() -> Path:
    folder = scratch_folder() / "whole"
    corpus = corpus_from_records(ISSUES, PRS, name="a/b")
    build_index(corpus, folder, model="fake", cache=False)
    return folder


def mutate(data, seed, mutate_bytes, max_size):
    name, _, change = data.partition(b"\n")
    if name == MANIFEST.encode() and seed % 6:
        return name + b"\n=" + json_text(change[1:], seed, mutate_bytes, max_size - 20)
    if seed % 5 == 0:
        names = (MANIFEST, *sorted(path.name for path in whole().glob("build-*/*")))
        return names[seed % len(names)].encode() + b"\n" + change
    return name + b"\n" + mutate_bytes(change, max(1, max_size - len(name) - 1))


def changed(old: bytes, change: bytes) -> bytes:
    if change[:1] == b"=":
        return change[1:]
    new = bytearray(old)
    for at in range(1, len(change) - 2, 3):
        place = int.from_bytes(change[at : at + 2], "little")
        if new:
            new[place % len(new)] = change[at + 2]
    return bytes(new)


def run(data: bytes) -> None:
    folder = empty_folder("index")
    shutil.copytree(whole(), folder, dirs_exist_ok=True)
    document = json.loads((folder / MANIFEST).read_bytes())
    name, _, change = data.partition(b"\n")
    path = folder / document["build"] / name.decode("latin-1").replace("/", "").replace("\0", "")
    if name == MANIFEST.encode():
        try:
            given = json.loads(changed(b"", change))
        except (ValueError, RecursionError):
            (folder / MANIFEST).write_bytes(change[1:])
            given = None
        document = document | given if isinstance(given, dict) else given
    elif path.is_file():
        new = changed(path.read_bytes(), change)
        path.write_bytes(new)
        document["files"][path.name] = len(new), zlib.crc32(new)
    else:
        return
    if isinstance(document, dict):
        document.pop("sha256", None)
        document = {"sha256": digest_of(document), **document}
    if document is not None:
        (folder / MANIFEST).write_text(json.dumps(document))
    with expected_errors():
        index = open_index(folder, model="fake", threads=1)
        must_hold(index.links[0].size == index.links[1].size, "links")
        index.changed_origin()
        for question in ("parseHeader fails with E0002", "crash"):
            for filters in (Filters(), Filters(kind="pr", author="bob")):
                for answer in ask(index, question, k=5, filters=filters).answers:
                    must_hold(0 <= answer.node < len(index), "node")
                    must_hold(answer.as_dict()["origin"], "origin")
            index.named_in(question)
        find_ticket(index, "#12")
        for ticket in index.tickets:
            must_hold(isinstance(ticket.title, str), "title")
