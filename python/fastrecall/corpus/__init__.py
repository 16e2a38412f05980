"""Materials: tickets read from files, the window, links, gold."""

from __future__ import annotations

import os
from pathlib import Path

from fastrecall.corpus._records import BadField, RecordReader, is_repository_name
from fastrecall.corpus._sources import Source, find_sources
from fastrecall.corpus.build import make_corpus
from fastrecall.corpus.gold import (
    GoldDifference,
    GoldRow,
    compare_gold,
    corpus_from_gold,
    gold_csv,
    gold_from_links,
    gold_from_rows,
    links_from_gold,
    make_gold,
    read_gold,
    write_gold,
)
from fastrecall.corpus.links import find_links, own_repository
from fastrecall.corpus.text import node_texts, query_text
from fastrecall.corpus.window import AUTHOR_FILTER, WINDOW_ISSUES, WINDOW_PRS, Window
from fastrecall.errors import CorpusError, InputError
from fastrecall.types import Corpus

__all__ = [
    "AUTHOR_FILTER",
    "WINDOW_ISSUES",
    "WINDOW_PRS",
    "GoldDifference",
    "GoldRow",
    "compare_gold",
    "corpus_from_gold",
    "find_links",
    "gold_csv",
    "gold_from_links",
    "gold_from_rows",
    "links_from_gold",
    "load_corpus",
    "make_corpus",
    "make_gold",
    "node_texts",
    "own_repository",
    "query_text",
    "read_gold",
    "write_gold",
]


def load_corpus(
    source: str | os.PathLike[str] | None = None,
    *,
    prs: str | os.PathLike[str] | None = None,
    issues: str | os.PathLike[str] | None = None,
    window_prs: int | None = WINDOW_PRS,
    window_issues: int | None = WINDOW_ISSUES,
    author_filter: str | None = AUTHOR_FILTER,
    name: str | None = None,
) -> Corpus:
    """Read a corpus from files, cut to the window (DESIGN §4).

    Args:
        source: ``"demo"`` for the generated corpus; else a folder with ``prs.json`` and
            ``issues.json`` (also ``.gz``), ``*.parquet`` or ``*.jsonl``; or one such file. A file
            whose name does not end in prs or issues may mix both, if its records tell them apart.
        prs: a file of PRs, whatever it is called.
        issues: a file of issues, whatever it is called.
        window_prs: how many PRs to keep, the newest first; None: all.
        window_issues: how many issues to keep, the newest first; None: all.
        author_filter: regular expression of PR authors to drop first (`window.author_matcher`).
        name: what to call the corpus; if it has the form ``owner/name``, it is also the
            repository of the records that name none.

    Raises:
        CorpusError: a file that is missing, cut, damaged or of another shape, or no tickets at all.
        InputError: an option that makes no sense.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "issues.json"
    >>> _ = file.write_text('[{"number": 1, "title": "Crash", "createdAt": "2024-05-31 12:00"}]')
    >>> load_corpus(file).tickets[0].title
    'Crash'
    """
    if source == "demo":
        from fastrecall.corpus.demo import demo_corpus

        return demo_corpus()
    sources = find_sources(Path(source)) if source is not None else []
    if prs is not None:
        sources.insert(0, Source(Path(prs), "pr"))
    if issues is not None:
        sources.append(Source(Path(issues), "issue"))
    if not sources:
        raise InputError("no corpus was named; expected a folder, a file, prs and issues, or demo")
    window = Window(prs=window_prs, issues=window_issues, author_filter=author_filter)
    reader = RecordReader(repo=name if name and is_repository_name(name) else "")
    notes: list[str] = []
    for one in sources:
        notes += _read(one, reader, window)
    tickets, cut, window_notes = window.close()
    if not tickets:
        places = " and ".join(str(one.path) for one in sources)
        raise CorpusError(
            f"{places}: {cut.read_issues} issues and {cut.read_prs} PRs were read and none "
            "kept, so there is nothing to search; check the files, the window and the author filter"
        )
    notes += window_notes
    if reader.mended_texts:
        notes.append(
            f"{reader.mended_texts} texts held characters that are not valid Unicode; "
            "each became U+FFFD"
        )
    place = Path(source if source is not None else sources[0].path)
    return make_corpus(tickets, name=name or _name(place), cut=cut, notes=tuple(notes))


def _read(source: Source, reader: RecordReader, window: Window) -> list[str]:
    """Put the tickets of one file into the window; returns what to tell the reader."""
    count = pulls = 0
    for record in source.records():
        count += 1
        if source.kind == "issue" and record.get("pull_request") is not None:
            pulls += 1
            continue
        try:
            window.add(*reader.ticket(record, source.kind))
        except BadField as error:
            raise CorpusError(f"{source.path}, record {count}: {error}") from None
    notes = []
    if pulls:
        notes.append(
            f"{source.path.name}: {pulls} pull requests were listed among the issues and left out"
        )
    if source.format != "Parquet" and _looks_cut(count):
        notes.append(
            f"{source.path.name} holds exactly {count} records, as if `--limit {count}` had cut "
            "it; export with a higher limit to be sure"
        )
    return notes


def _looks_cut(count: int) -> bool:
    """Whether a number of records is one that people and programs give as a limit."""
    return count in (30, 50, 100, 200, 300, 500) or (count > 0 and count % 1000 == 0)


def _name(place: Path) -> str:
    """What to call a corpus that lies there: the folder, or the file without its suffixes."""
    return place.resolve().name if place.is_dir() else place.name.partition(".")[0]
