"""A source tree as a corpus: files cut into chunks that know where they stand."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fastrecall.corpus.code import git
from fastrecall.corpus.code.by_heading import cut_by_heading
from fastrecall.corpus.code.by_syntax import cut_by_syntax
from fastrecall.corpus.code.languages import language_of, languages
from fastrecall.corpus.code.source import (
    Skipped,
    files_of_commit,
    files_on_disk,
)
from fastrecall.corpus.code.spans import ChunkSizes, Lines, Span, merge_small, split_by_lines
from fastrecall.errors import CorpusError

__all__ = ["ChunkSizes", "CodeChunk", "CodeCorpus", "Skipped", "chunk_file", "load_code"]


@dataclass(frozen=True, slots=True)
class CodeChunk:
    """A piece of a file that answers on its own: a function, a type, a section, a window.

    ``start`` and ``end`` are line numbers from 1, inclusive. ``symbols`` are paths such as
    ``impl Store > fn open``. ``text`` is the lines as they stand in the file.
    """

    path: str
    language: str
    symbols: tuple[str, ...]
    start: int
    end: int
    text: str

    @property
    def is_code(self) -> bool:
        """Whether a grammar cut it: programming language, neither prose nor configuration."""
        return self.language in languages()

    @property
    def where(self) -> str:
        """``path:start-end``, as people write it."""
        return f"{self.path}:{self.start}-{self.end}"


@dataclass(frozen=True)
class CodeCorpus:
    """The chunks of a tree in (path, start line) order: the index is the node id.

    ``commit`` is the full id when it was read from a commit. ``skipped`` lists the files that are
    not in it, with reasons. ``fingerprint`` is the sha256 of paths, line ranges and texts.
    """

    name: str
    chunks: tuple[CodeChunk, ...]
    files: int
    skipped: tuple[Skipped, ...] = ()
    commit: str | None = None

    def __len__(self) -> int:
        return len(self.chunks)

    @cached_property
    def fingerprint(self) -> str:
        """Sha256 over what the chunks say and where they stand."""
        digest = hashlib.sha256()
        for chunk in self.chunks:
            digest.update(f"{chunk.where}\0{chunk.text}\0".encode(errors="surrogatepass"))
        return digest.hexdigest()

    @cached_property
    def languages(self) -> dict[str, int]:
        """Chunks by language, most frequent first."""
        counted = Counter(chunk.language for chunk in self.chunks)
        return dict(sorted(counted.items(), key=lambda pair: (-pair[1], pair[0])))


def load_code(
    path: str | os.PathLike[str],
    *,
    commit: str | None = None,
    sizes: ChunkSizes | None = None,
) -> CodeCorpus:
    """Read a source tree and cut it into chunks.

    Args:
        path: the folder of a tree; with *commit* also a bare repository or a folder inside one.
        commit: read this commit, tag or branch through git; the work tree is not touched.
        sizes: how large a chunk may be.

    .gitignore is respected; binary, huge and minified files, lock files, symbolic links and
    submodules are skipped and listed. Each line with content is in exactly one chunk.

    Raises:
        CorpusError: no such folder or commit, or nothing in it to read.
        MissingExtraError: the extra ``code`` is not installed.

    >>> import pathlib, tempfile
    >>> root = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (root / "a.py").write_text("def retry(times):\\n    return times - 1\\n")
    >>> [(chunk.where, chunk.symbols) for chunk in load_code(root).chunks]
    [('a.py:1-2', ('def retry',))]
    """
    root = Path(path)
    if commit is None:
        found = files_on_disk(root)
    else:
        commit = git.resolve_commit(root, commit)
        found = files_of_commit(root, commit)
    chunks: list[CodeChunk] = []
    skipped: list[Skipped] = []
    files = 0
    for file in found:
        if isinstance(file, Skipped):
            skipped.append(file)
        else:
            files += 1
            chunks.extend(chunk_file(file.path, file.text, sizes=sizes))
    if not chunks:
        raise CorpusError(
            f"{root} has no text file to index ({len(skipped)} skipped); "
            "expected the folder of a source tree"
        )
    return CodeCorpus(root.resolve().name, tuple(chunks), files, tuple(skipped), commit)


def chunk_file(path: str, text: str, *, sizes: ChunkSizes | None = None) -> list[CodeChunk]:
    """Cut one file; each line with content is in exactly one chunk, in line order.

    >>> [(c.start, c.end, c.symbols) for c in chunk_file("go.md", "# Run\\n\\nmake it\\n")]
    [(1, 3, ('Run',))]
    """
    sizes = sizes or ChunkSizes()
    lines = Lines(text)
    language = language_of(path, text)
    if language in languages():
        spans: Sequence[Span] = cut_by_syntax(text, lines, languages()[language], sizes)
    elif language == "markdown":
        spans = cut_by_heading(lines, sizes)
    else:
        spans = split_by_lines(Span(0, len(lines) - 1), lines, sizes)
    chunks = []
    for span in merge_small(spans, lines, sizes):
        trimmed = lines.trimmed(span.start, span.end)
        if trimmed is not None:
            start, end = trimmed
            chunks.append(
                CodeChunk(path, language, span.symbols, start + 1, end + 1, lines.text(start, end))
            )
    return chunks
