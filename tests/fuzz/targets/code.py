"""A source file in any of the languages: each line with content is in exactly one chunk. Behind a
byte of 255: two ``.gitignore`` files, of a folder and of one in it, with an empty line between."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tests.fuzz.common import expected_errors, must_hold, scratch_folder

from fastrecall.corpus.code import chunk_file
from fastrecall.corpus.code.source import SourceFile, _as_text, files_on_disk
from fastrecall.search import code_text

NAMES = ("a.md", "a.py", "a.rs", "a.c", "a.cpp", "a.go", "a.java", "a.js", "a.ts", "a.txt")
IGNORE = 255
FILES = (".gitignore", "a.py", "a/.gitignore", "a/a.py", "a/b/c.txt", "b c.md", "é/!x", "é/[z-a]")


def run(data: bytes) -> None:
    if data[:1] == bytes([IGNORE]):
        check_ignored(data[1:])
    else:
        check_chunks(data)


@cache
def tree() -> Path:
    root = scratch_folder() / "tree"
    for name in FILES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x = 1\n")
    return root


def check_ignored(data: bytes) -> None:
    outer, _, inner = data.partition(b"\n\n")
    (tree() / ".gitignore").write_bytes(outer)
    (tree() / "a" / ".gitignore").write_bytes(inner)
    with expected_errors():
        found = [file.path for file in files_on_disk(tree())]
        must_hold(found == sorted(found) and set(found) <= set(FILES), "other files than there are")
        plain = outer.split(b"\n")
        if not any(line[:1] == b"!" for line in (*plain, *inner.split(b"\n"))):
            must_hold(b"a.py" not in plain or "a.py" not in found, "a file that is ignored")
            must_hold(outer.strip() or "b c.md" in found, "a file that is not ignored")


def check_chunks(data: bytes) -> None:
    name = NAMES[data[0] % len(NAMES)] if data else "a.txt"
    file = _as_text(name, data[1:])
    if not isinstance(file, SourceFile):
        return
    chunks = chunk_file(file.path, file.text)
    rows = file.text.split("\n")
    shown = [0] * len(rows)
    for chunk in chunks:
        must_hold(1 <= chunk.start <= chunk.end <= len(rows), "lines outside of the file")
        must_hold(chunk.text == "\n".join(rows[chunk.start - 1 : chunk.end]), "other text")
        for line in range(chunk.start - 1, chunk.end):
            shown[line] += 1
        code_text.spoken(code_text.without_licence(chunk.text))
    for row, times in zip(rows, shown, strict=True):
        must_hold(times == 1 or (times == 0 and not row.strip()), "a line not in one chunk")
