"""A dataset of tickets: an input gives keys of its manifest, whose digest is made to fit.

Keys with an ``@`` say what is in its files, whose checksums are made to fit, too: ``@tickets`` are
rows of a table, in which a row holds what it changes of the tickets' columns, ``@codes``,
``@created_at`` and ``@untitled`` the numbers of an array; a text stands for a file as it is.
"""

from __future__ import annotations

import io
import json
import shutil
import zlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tests.fuzz.common import empty_folder, expected_errors, must_hold, scratch_folder
from tests.fuzz.mutate import json_text

from fastrecall._checked import digest_of
from fastrecall.corpus import find_links, load_corpus, node_texts, write_dataset
from fastrecall.corpus.dataset.place import COLUMNS, MANIFEST
from fastrecall.types import Ticket

ISSUES = [
    {"number": number, "title": f"Crash {number}", "createdAt": "2024-05-31T12:00:00Z"}
    for number in range(1, 6)
]
NOT_A_TABLE = (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, MemoryError)


def mutate(data, seed, mutate_bytes, max_size):
    if seed % 4:
        return json_text(data, seed, mutate_bytes, max_size)
    return mutate_bytes(data, max_size)


@cache
def whole() -> Path:
    folder = scratch_folder()
    source = folder / "issues.json"
    source.write_text(json.dumps(ISSUES))
    write_dataset(source, folder / "tickets")
    return folder / "tickets"


def table(rows: Any, old: bytes) -> bytes:
    """A Parquet file of the old rows with what *rows* change; their columns may get other types."""
    schema = pq.read_schema(pa.BufferReader(old))
    there = pq.read_table(pa.BufferReader(old)).to_pylist()
    changed = [there[at % len(there)] | dict(row) for at, row in enumerate(rows)]
    given = {name for row in rows for name in row}
    types = {one.name: one.type for one in schema if one.name not in given}
    columns = {
        name: pa.array([row.get(name) for row in changed], types.get(name))
        for name in dict.fromkeys(name for row in changed for name in row)
    }
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue().to_pybytes()


def array(values: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, np.array(values), allow_pickle=False)
    return file.getvalue()


def replaced(path: Path, given: Any, kind: str) -> tuple[int, int]:
    """Put what is *given* into a file; its size and checksum."""
    old = path.read_bytes()
    if isinstance(given, str):
        new = given.encode("latin-1", "replace")
    elif kind == "tickets":
        new = table(given, old)
    else:
        numbers = np.array(given)
        dtype = COLUMNS[kind]
        fits = numbers.dtype.kind in "iu" and np.array_equal(numbers.astype(dtype), numbers)
        new = array(numbers.astype(dtype) if fits or not numbers.size else numbers)
    path.write_bytes(new)
    return len(new), zlib.crc32(new)


def run(data: bytes) -> None:
    try:
        given = json.loads(data)
    except (ValueError, RecursionError):
        return
    if not isinstance(given, dict):
        return
    folder = empty_folder("copy")
    shutil.copytree(whole(), folder, dirs_exist_ok=True)
    document = json.loads((folder / MANIFEST).read_bytes())
    for kind, stored in (("tickets", document["files"][0]), *document["columns"].items()):
        if f"@{kind}" in given:
            try:
                stored[2:] = replaced(folder / stored[0], given.pop(f"@{kind}"), kind)
            except (*NOT_A_TABLE, pa.ArrowException):
                return
    document |= given
    document.pop("sha256", None)
    (folder / MANIFEST).write_text(json.dumps({**document, "sha256": digest_of(document)}))
    with expected_errors():
        corpus = load_corpus(folder)
        titles = [ticket.title for ticket in corpus.tickets]
        must_hold(len(titles) == len(corpus) == len(corpus.is_pr), "other counts")
        if titles:
            must_hold(corpus.tickets[len(titles) - 1].title == titles[-1], "another ticket")
        for node, ticket in enumerate(corpus.tickets):
            check(ticket)
            name = corpus.columns.name(node)
            must_hold(name == (ticket.repo, ticket.kind, ticket.number), "columns of other tickets")
            must_hold(corpus.node(*name) == node, "a ticket that is not found")
        must_hold((corpus.columns.untitled < max(len(corpus), 1)).all(), "untitled")
        must_hold(len(node_texts(corpus)) == len(corpus), "texts")
        find_links(corpus)


def check(ticket: Ticket) -> None:
    texts = (ticket.repo, ticket.title, ticket.body, ticket.author, ticket.state, ticket.url)
    must_hold(all(isinstance(text, str) for text in texts), "a text that is none")
    must_hold(ticket.kind in ("issue", "pr") and type(ticket.number) is int, "kind or number")
    must_hold(type(ticket.created_at) is int, "a time that is none")
    must_hold(all(isinstance(label, str) for label in ticket.labels), "a label that is none")
    for repo, number in ticket.closes or ():
        must_hold(isinstance(repo, str) and type(number) is int, "a reference that is none")
