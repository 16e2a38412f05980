"""From what names a corpus to its index, and to the word that it is out of date."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fastrecall.corpus import (
    AUTHOR_FILTER,
    WINDOW_ISSUES,
    WINDOW_PRS,
    corpus_files,
    load_corpus,
)
from fastrecall.execution import Executor
from fastrecall.search.index.build import SERVED_LINKS, build_index
from fastrecall.search.index.place import Manifest, changed_at, index_folder
from fastrecall.types import LinkSource


def index_corpus(
    source: str,
    folder: Path | None = None,
    *,
    window_prs: int | None = WINDOW_PRS,
    window_issues: int | None = WINDOW_ISSUES,
    author_filter: str | None = AUTHOR_FILTER,
    links: Sequence[LinkSource] = SERVED_LINKS,
    model: str = "minilm",
    threads: int | None = None,
    cache: bool | Path = True,
    memory: int | str | None = None,
    executor: Executor | None = None,
) -> tuple[Path, Manifest]:
    """Load the corpus that *source* names and write its index; returns where, and what it is.

    Options are those of `load_corpus` and `build_index`.

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp())
    >>> folder, _ = index_corpus("demo", place, model="fake", cache=False)
    >>> folder == place
    True
    """
    # Before the corpus is read: what changes meanwhile will be noticed.
    origins = [(path, path.stat()) for path in map(Path.resolve, corpus_files(source))]
    corpus = load_corpus(
        source, window_prs=window_prs, window_issues=window_issues, author_filter=author_filter
    )
    folder = folder or index_folder(source)
    manifest = build_index(
        corpus,
        folder,
        links=links,
        model=model,
        threads=threads,
        cache=cache,
        memory=memory,
        executor=executor,
        source=str(Path(source).resolve()) if Path(source).exists() else source,
        origins=[(str(path), stat.st_size, changed_at(stat)) for path, stat in origins],
    )
    return folder, manifest
