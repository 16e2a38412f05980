"""A dataset of tickets: an input gives keys of its manifest, whose digest is made to fit."""

from __future__ import annotations

import json
import shutil
from functools import cache
from pathlib import Path

from tests.fuzz.common import empty_folder, expected_errors, must_hold, scratch_folder
from tests.fuzz.mutate import json_text

from fastrecall._checked import digest_of
from fastrecall.corpus import load_corpus, write_dataset
from fastrecall.corpus.dataset.place import MANIFEST

ISSUES = [
    {"number": number, "title": f"Crash {number}", "createdAt": "2024-05-31T12:00:00Z"}
    for number in range(1, 6)
]


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


def run(data: bytes) -> None:
    try:
        given = json.loads(data)
    except (ValueError, RecursionError):
        return
    if not isinstance(given, dict):
        return
    folder = empty_folder("copy")
    shutil.copytree(whole(), folder, dirs_exist_ok=True)
    document = json.loads((folder / MANIFEST).read_bytes()) | given
    document.pop("sha256", None)
    (folder / MANIFEST).write_text(json.dumps({**document, "sha256": digest_of(document)}))
    with expected_errors():
        corpus = load_corpus(folder)
        titles = [ticket.title for ticket in corpus.tickets]
        must_hold(len(titles) == len(corpus) == len(corpus.is_pr), "other counts")
        if titles:
            must_hold(corpus.tickets[len(titles) - 1].title == titles[-1], "another ticket")
