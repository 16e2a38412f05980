"""What a fetch leaves on disk: the manifest (first line) and the journal of pages (the others).

Keys of the manifest that it does not have say what is in the file of tickets, whose digest is made
to fit: ``@rows`` are rows of a table with any columns, ``@bytes`` stand for the file as it is.
"""

from __future__ import annotations

import json
import os
import zlib
from dataclasses import replace
from hashlib import sha256
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
from tests.fuzz.common import empty_folder, expected_errors, must_hold
from tests.fuzz.mutate import json_lines as mutate

from fastrecall.corpus import load_corpus
from fastrecall.corpus.fetch.journal import Header, open_journal
from fastrecall.corpus.fetch.store import JOURNAL, MANIFEST, Manifest, Store
from fastrecall.corpus.table import to_table
from fastrecall.types import Ticket

__all__ = ["mutate", "run"]

HEADER = Header(since=None, comments=False, commits=False, base="")
NOT_A_TABLE = (LookupError, TypeError, AttributeError, ArithmeticError, pa.ArrowException)
TICKETS = [Ticket("a/b", "issue", 1, "Crash", "", 0), Ticket("a/b", "pr", 2, "Fix #1", "", 5)]


def sealed(line: bytes) -> bytes:
    """The line with the length and checksum that it needs, if it is an object."""
    whole = line.removesuffix(b"\n")
    if not whole.startswith(b"{"):
        return line
    head = b"%08x %08x " % (len(whole), zlib.crc32(whole))
    return head + line


def content(document: dict[str, Any]) -> bytes | None:
    """The file of tickets that the keys ask for; None: the one that is there."""
    rows, text = document.pop("@rows", None), document.pop("@bytes", None)
    if isinstance(text, str):
        return text.encode("latin-1", "replace")
    if not isinstance(rows, list):
        return None
    whole = to_table(TICKETS).to_pylist()
    rows = [whole[0] | row if isinstance(row, dict) else row for row in rows]
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows), sink)
    return sink.getvalue().to_pybytes()


def run(data: bytes) -> None:
    with patch.dict(os.environ, FASTRECALL_DATA=str(empty_folder("data"))):
        check(data)


def check(data: bytes) -> None:
    store = Store.of("github.com", "a/b")
    stored = store.replace(TICKETS, Manifest(repository="a/b", source="github.com"))
    manifest, _, pages = data.partition(b"\n")
    mine = True
    try:
        document = json.loads(manifest)
        new = content(document) if isinstance(document, dict) else None
    except (ValueError, RecursionError):
        new = None
    except NOT_A_TABLE:
        return
    if new is not None:
        mine = False
        (store.folder / stored.file).write_bytes(new)
        stored = replace(stored, sha256=sha256(new).hexdigest())
        manifest = json.dumps(document).encode()
    # The name and digest of the file are those of what lies there: the rest is what is read.
    manifest = manifest.replace(b"@file", stored.file.encode())
    manifest = manifest.replace(b"@sha256", stored.sha256.encode())
    (store.folder / MANIFEST).write_bytes(manifest)
    (store.folder / JOURNAL).write_bytes(b"".join(map(sealed, pages.splitlines(keepends=True))))
    must_hold(sha256((store.folder / stored.file).read_bytes()).hexdigest() == stored.sha256, "")
    with expected_errors():
        found = store.manifest()
        if found is not None:
            tickets = store.tickets(found)
            must_hold(not mine or len(tickets) == 2, "tickets")
            must_hold(all(one.kind in ("issue", "pr") for one in tickets), "kinds")
            json.dumps(dict(found.counts) | dict(found.unlisted))
    with expected_errors():
        load_corpus("a/b")
    store.moved_to()
    with expected_errors(), open_journal(store.folder / JOURNAL, HEADER) as journal:
        must_hold(journal.count == sum(len(page.nodes) for page in journal.pages()), "count")
        for kind in ("issue", "pr"):
            page = journal.last(kind)
            must_hold(page is None or page.kind == kind, "kind")
