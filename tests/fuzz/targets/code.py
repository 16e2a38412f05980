"""A source file in any of the languages: each line with content is in exactly one chunk."""

from __future__ import annotations

from tests.fuzz.common import must_hold

from fastrecall.corpus.code import chunk_file
from fastrecall.corpus.code.source import SourceFile, _as_text
from fastrecall.search import code_text

NAMES = ("a.md", "a.py", "a.rs", "a.c", "a.cpp", "a.go", "a.java", "a.js", "a.ts", "a.txt")


def run(data: bytes) -> None:
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
