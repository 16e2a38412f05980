"""Files or records → `Corpus`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from fastrecall.corpus._records import BadField, RecordReader, is_repository_name
from fastrecall.corpus._sources import Source, find_sources
from fastrecall.corpus.build import make_corpus
from fastrecall.corpus.dataset.opened import open_dataset
from fastrecall.corpus.dataset.place import Cut, Manifest, is_dataset
from fastrecall.corpus.window import AUTHOR_FILTER, WINDOW_ISSUES, WINDOW_PRS, Window
from fastrecall.errors import CorpusError, InputError
from fastrecall.types import Corpus, Ticket, WindowCut


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
            or ``"OWNER/*"``. The folder of a dataset (`write_dataset`) is opened, not read: its
            window and its filter are those it was written with.
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
    if source is not None and is_dataset(source):
        if prs is not None or issues is not None:
            raise InputError(f"{source} is a dataset; give either it or prs and issues, not both")
        cut = Cut(window_prs, window_issues, author_filter)
        corpus = open_dataset(Path(source), cut)
        return corpus if name is None else replace(corpus, name=name)
    material = find_material(source, prs=prs, issues=issues, name=name)
    try:
        with material.unchanged():
            return assemble(
                material,
                Window(prs=window_prs, issues=window_issues, author_filter=author_filter),
            )
    except CorpusError:
        if not material.fetched or all(file.exists() for file in material.files):
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


class Material(NamedTuple):
    """Where the tickets of a corpus come from, PRs first, and what is known of it beforehand."""

    sources: list[Source]
    name: str
    generated: bool = False
    notes: tuple[str, ...] = ()
    fetched: bool = False

    @property
    def where(self) -> str:
        """The sources, for people."""
        return " and ".join(source.where for source in self.sources)

    @property
    def files(self) -> list[Path]:
        """The files among the sources."""
        return [source.path for source in self.sources if source.path is not None]

    @contextlib.contextmanager
    def unchanged(self) -> Iterator[None]:
        """Refuse what was read from the files in the block if one of them was changed meanwhile.

        Half of the old and half of the new content can look like a corpus, and so can two files of
        different age.
        """
        before = [_stamp(file) for file in self.files]
        yield
        for file, stamp in zip(self.files, before, strict=True):
            if _stamp(file) not in (stamp, None):  # a file that is gone was read to its end
                raise CorpusError(f"{file} was changed while it was read; run the command again")

    def reader(self) -> RecordReader:
        """What reads its records."""
        return RecordReader(repo=self.name if is_repository_name(self.name) else "")


def find_material(
    source: str | os.PathLike[str] | None,
    *,
    prs: str | os.PathLike[str] | None = None,
    issues: str | os.PathLike[str] | None = None,
    name: str | None = None,
) -> Material:
    """What `load_corpus` reads when it is called like that.

    Raises:
        CorpusError: a file that is missing, or a folder without tickets.
        InputError: nothing was named.
    """
    if isinstance(source, str) and source.partition(":")[0] == "demo":
        from fastrecall.corpus.demo import demo_material, nodes_named

        made = demo_material(nodes=nodes_named(source))
        return made if name is None else made._replace(name=name)
    if source is not None and is_dataset(source):
        known = Manifest.read(Path(source))
        files = [Source.at(path, None) for path in corpus_files(source)]
        return Material(files, name or known.name, known.generated, known.notes)
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
    return Material(sources, name or _name(place), fetched=fetched is not None)


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
    if is_dataset(source):
        return [Path(source) / file.name for file in Manifest.read(Path(source)).files]
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
    return assemble(Material(sources, name, generated), window)


def assemble(material: Material, window: Window) -> Corpus:
    """The corpus of what is read from *material* and kept by *window*."""
    reader = material.reader()
    notes: list[str] = []
    for source in material.sources:
        for record, ticket, updated_at in read_tickets(source, reader, notes):
            try:
                window.add(ticket, updated_at)
            except BadField as error:  # noqa: PERF203 - the record belongs into the message
                raise source.bad_record(record, error) from None
    tickets, cut, window_notes = window.close()
    if not tickets:
        raise nothing_kept(material, cut)
    return make_corpus(
        tickets,
        name=material.name,
        cut=cut,
        generated=material.generated,
        notes=(*material.notes, *notes, *window_notes, *mending_notes(reader)),
    )


def read_tickets(
    source: Source, reader: RecordReader, notes: list[str]
) -> Iterator[tuple[int, Ticket, int]]:
    """The tickets of a source: record number (from 1), ticket, when last updated (-1: not said).

    What the user must know of the source is added to *notes* at its end.
    """
    count = pulls = 0
    for record in source.records():
        count += 1
        if source.kind == "issue" and record.get("pull_request") is not None:
            pulls += 1
            continue
        try:
            ticket, updated_at = reader.ticket(record, source.kind)
        except BadField as error:
            raise source.bad_record(count, error) from None
        yield count, ticket, updated_at
    if pulls:
        notes.append(
            f"{source.where}: {pulls} pull requests were listed among the issues and left out"
        )
    if source.may_be_cut and _looks_like_a_limit(count):
        notes.append(
            f"{source.where} holds exactly {count} records, as if `--limit {count}` had cut "
            "it; export with a higher limit to be sure"
        )


def mending_notes(reader: RecordReader) -> list[str]:
    """What the user must know of the texts that *reader* read."""
    if not reader.mended_texts:
        return []
    return [
        f"{reader.mended_texts} texts held characters that are not valid Unicode; "
        "each became U+FFFD"
    ]


def nothing_kept(material: Material, cut: WindowCut) -> CorpusError:
    """The error for a corpus without tickets."""
    return CorpusError(
        f"{material.where}: {cut.read_issues} issues and {cut.read_prs} PRs were read and none "
        "kept, so there is nothing to search; check the files, the window and the author filter"
    )


def _looks_like_a_limit(count: int) -> bool:
    """Whether a number of records is one that people and programs give as a limit."""
    return count in (30, 50, 100, 200, 300, 500) or (count > 0 and count % 1000 == 0)


def _name(place: Path) -> str:
    """What to call a corpus that lies there: the folder, or the file without its suffixes."""
    return place.resolve().name if place.is_dir() else place.name.partition(".")[0]
