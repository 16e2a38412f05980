"""Files or records → `Corpus`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fastrecall.corpus._records import BadField, RecordReader, is_repository_name
from fastrecall.corpus._sources import Source, find_sources
from fastrecall.corpus.build import make_corpus
from fastrecall.corpus.window import AUTHOR_FILTER, WINDOW_ISSUES, WINDOW_PRS, Window
from fastrecall.errors import CorpusError, InputError
from fastrecall.types import Corpus


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
    """Read a corpus from files, cut to the window (docs/links.md).

    Args:
        source: ``"demo"`` for the generated corpus, or ``"demo:20000"`` for one of that many
            tickets; else a folder with ``prs.json`` and ``issues.json`` (also ``.gz``),
            ``*.parquet`` or ``*.jsonl``; or one such file. A file whose name does not end in prs
            or issues may mix both, if its records tell them apart. What is no path may
            be what ``fastrecall fetch`` brought: ``"OWNER/NAME"``, several of them joined by ``+``,
            or ``"OWNER/*"``.
        prs: a file of PRs, whatever it is called.
        issues: a file of issues, whatever it is called.
        window_prs: how many PRs to keep, the newest first; None: all.
        window_issues: how many issues to keep, the newest first; None: all.
        author_filter: regular expression of PR authors to drop first (`window.author_matcher`).
        name: what to call the corpus; if it has the form ``owner/name``, it is also the
            repository of the records that name none.

    Raises:
        CorpusError: a file that is missing, cut, damaged, of another shape, or changed while it was
            read, or no tickets at all.
        InputError: an option that makes no sense.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "issues.json"
    >>> _ = file.write_text('[{"number": 1, "title": "Crash", "createdAt": "2024-05-31 12:00"}]')
    >>> load_corpus(file).tickets[0].title
    'Crash'
    """
    if isinstance(source, str) and source.partition(":")[0] == "demo":
        from fastrecall.corpus.demo import demo_corpus, nodes_named

        return demo_corpus(
            nodes=nodes_named(source),
            window_prs=window_prs,
            window_issues=window_issues,
            author_filter=author_filter,
        )
    window = Window(prs=window_prs, issues=window_issues, author_filter=author_filter)
    sources: list[Source] = []
    fetched = None
    if source is not None:
        fetched = _fetched(source)
        sources = find_sources(Path(source)) if fetched is None else fetched[1]
        name = name or (fetched[0] if fetched else None)
    if prs is not None:
        sources.insert(0, Source.at(Path(prs), "pr"))
    if issues is not None:
        sources.append(Source.at(Path(issues), "issue"))
    if not sources:
        raise InputError("no corpus was named; expected a folder, a file, prs and issues, or demo")
    place = Path(source if source is not None else sources[0].where)
    files = [Path(one.where) for one in sources]
    try:
        with _unchanged(files):
            return _assemble(sources, window, name=name or _name(place))
    except CorpusError:
        if fetched is None or all(file.exists() for file in files):
            raise
    # A fetch that ended meanwhile has put other files in their place.
    return load_corpus(
        source,
        prs=prs,
        issues=issues,
        window_prs=window_prs,
        window_issues=window_issues,
        author_filter=author_filter,
        name=name,
    )


@contextlib.contextmanager
def _unchanged(files: Sequence[Path]) -> Iterator[None]:
    """Refuse what was read from files in the block if one of them was changed meanwhile.

    Half of the old and half of the new content can look like a corpus, and so can two files of
    different age.
    """
    before = [_stamp(file) for file in files]
    yield
    for file, stamp in zip(files, before, strict=True):
        if _stamp(file) not in (stamp, None):  # a file that is gone was read to its end
            raise CorpusError(f"{file} was changed while it was read; run the command again")


def _stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        stat = file.stat()
    except OSError:
        return None
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


def corpus_files(source: str | os.PathLike[str]) -> list[Path]:
    """The files that `load_corpus` reads for *source*; none for the demo.

    Raises:
        CorpusError: there is nothing there.

    >>> corpus_files("demo")
    []
    """
    if os.fspath(source).partition(":")[0] == "demo":
        return []
    fetched = _fetched(source)
    sources = find_sources(Path(source)) if fetched is None else fetched[1]
    return [Path(one.where) for one in sources]


def _fetched(source: str | os.PathLike[str]) -> tuple[str, list[Source]] | None:
    """The name and the files of a fetched corpus; None when the source is something else."""
    from fastrecall.corpus.fetch.store import fetched_files, is_fetched_name

    if not is_fetched_name(os.fspath(source)) or Path(source).exists():
        return None
    name, files = fetched_files(os.fspath(source))
    return name, [Source.at(file, None) for file in files]


def corpus_from_records(
    issues: Iterable[Mapping[str, Any]],
    prs: Iterable[Mapping[str, Any]],
    *,
    name: str,
    window_prs: int | None = WINDOW_PRS,
    window_issues: int | None = WINDOW_ISSUES,
    author_filter: str | None = AUTHOR_FILTER,
    generated: bool = False,
) -> Corpus:
    """As `load_corpus`, from records that are in memory, in the form that ``gh`` prints.

    >>> issue = {"number": 1, "title": "Crash", "createdAt": "2024-05-31T12:00:00Z"}
    >>> len(corpus_from_records([issue], [], name="tiny"))
    1
    """
    window = Window(prs=window_prs, issues=window_issues, author_filter=author_filter)
    sources = [Source.of("prs", prs, "pr"), Source.of("issues", issues, "issue")]
    return _assemble(sources, window, name=name, generated=generated)


def _assemble(
    sources: list[Source], window: Window, *, name: str, generated: bool = False
) -> Corpus:
    reader = RecordReader(repo=name if is_repository_name(name) else "")
    notes: list[str] = []
    for source in sources:
        notes += _read(source, reader, window)
    tickets, cut, window_notes = window.close()
    if not tickets:
        raise CorpusError(
            f"{' and '.join(source.where for source in sources)}: {cut.read_issues} issues and "
            f"{cut.read_prs} PRs were read and none kept, so there is nothing to search; "
            "check the files, the window and the author filter"
        )
    notes += window_notes
    if reader.mended_texts:
        notes.append(
            f"{reader.mended_texts} texts held characters that are not valid Unicode; "
            "each became U+FFFD"
        )
    return make_corpus(tickets, name=name, cut=cut, generated=generated, notes=tuple(notes))


def _read(source: Source, reader: RecordReader, window: Window) -> list[str]:
    """Put the tickets of one source into the window; returns what to tell the user."""
    count = pulls = 0
    for record in source.records():
        count += 1
        if source.kind == "issue" and record.get("pull_request") is not None:
            pulls += 1
            continue
        try:
            window.add(*reader.ticket(record, source.kind))
        except BadField as error:
            raise CorpusError(f"{source.where}, record {count}: {error}") from None
    notes = []
    if pulls:
        notes.append(
            f"{source.where}: {pulls} pull requests were listed among the issues and left out"
        )
    if source.may_be_cut and _looks_like_a_limit(count):
        notes.append(
            f"{source.where} holds exactly {count} records, as if `--limit {count}` had cut "
            "it; export with a higher limit to be sure"
        )
    return notes


def _looks_like_a_limit(count: int) -> bool:
    """Whether a number of records is one that people and programs give as a limit."""
    return count in (30, 50, 100, 200, 300, 500) or (count > 0 and count % 1000 == 0)


def _name(place: Path) -> str:
    """What to call a corpus that lies there: the folder, or the file without its suffixes."""
    return place.resolve().name if place.is_dir() else place.name.partition(".")[0]
