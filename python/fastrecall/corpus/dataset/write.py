"""Any source of tickets → a dataset: two passes, memory that does not grow with the texts."""

from __future__ import annotations

import contextlib
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fastrecall._files import atomic_write, remove_leftovers
from fastrecall._lock import locked
from fastrecall._memory import parse_bytes
from fastrecall._term import progress
from fastrecall.corpus._records import RecordReader
from fastrecall.corpus.build import corpus_fingerprint
from fastrecall.corpus.dataset.choice import Kept, OtherTime, choose
from fastrecall.corpus.dataset.keys import KeyFiles
from fastrecall.corpus.dataset.opened import BLOCK, checksum, open_dataset
from fastrecall.corpus.dataset.place import (
    BUILDING,
    COLUMNS,
    MANIFEST,
    Cut,
    Manifest,
    StoredFile,
    is_dataset,
)
from fastrecall.corpus.dataset.rows import RowFiles, file_starts
from fastrecall.corpus.load import (
    Material,
    find_material,
    mending_notes,
    nothing_kept,
    read_tickets,
)
from fastrecall.corpus.table import tickets_of
from fastrecall.corpus.window import AUTHOR_FILTER, Window, author_matcher, other_time
from fastrecall.errors import CacheError, CorpusError, InputError
from fastrecall.types import Corpus, Ticket

if TYPE_CHECKING:
    import pyarrow as pa

_LOCK = ".lock"
_PATTERNS = ("tickets-*-*.parquet", *(f"{name}-*.npy" for name in COLUMNS))
"""Names of the files beside the manifest."""

_LEAST_MEMORY = 1 << 26
MEMORY = 1 << 30
"""Bytes that a conversion takes unless it is told otherwise."""

_ADVANCE = 1 << 10


def write_dataset(
    source: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    window_prs: int | None = None,
    window_issues: int | None = None,
    author_filter: str | None = AUTHOR_FILTER,
    name: str | None = None,
    memory: int | str = MEMORY,
) -> Corpus:
    """Write the tickets of *source* as a dataset, from which they are read as they are needed.

    The source is read twice. Kept are the very tickets, in the very order and with the same notes
    and fingerprint, that `load_corpus` with the same options has; `load_corpus` of *folder* opens
    them in an instant. What was there stays until the new dataset is whole; work that was killed
    starts again.

    Args:
        source: whatever `load_corpus` reads.
        folder: a new or empty one, or one that holds a dataset already.
        window_prs: how many PRs to keep, the newest first; None: all.
        window_issues: how many issues to keep, the newest first; None: all.
        author_filter: regular expression of PR authors to drop first.
        name: what to call the corpus, as for `load_corpus`.
        memory: bytes, or an amount such as ``"2GB"``, for the tickets that are held at a time: at
            least 64 MiB. Beside it stand about 100 MB for one file, and 100 bytes a ticket.

    Raises:
        CorpusError: the source cannot be read, or changes meanwhile.
        InputError: an option that makes no sense.
        CacheError: the folder holds something else, or cannot be written.

    >>> import tempfile
    >>> write_dataset("demo", tempfile.mkdtemp()).cut.kept_prs
    630
    """
    budget = max(parse_bytes(memory), _LEAST_MEMORY)
    cut = Cut(window_prs, window_issues, author_filter)
    # Before anything is read: it checks the options.
    Window(prs=window_prs, issues=window_issues, author_filter=author_filter)
    folder = Path(folder)
    material = find_material(source, name=name)
    _check_free(folder, material)
    busy = f"another process is writing {folder}; wait until it is done"
    with locked(folder / _LOCK, busy=busy), _cannot_write(folder):
        conversion = _Conversion(material, folder, cut, budget)
        shutil.rmtree(conversion.building, ignore_errors=True)
        for pattern in (MANIFEST, *_PATTERNS):
            remove_leftovers(folder, pattern)
        try:
            conversion.run()
        except BaseException:
            conversion.give_up()
            raise
        finally:
            # Last: while it is there, files without a manifest are known for what they are.
            shutil.rmtree(conversion.building, ignore_errors=True)
    return open_dataset(folder)


class _Conversion:
    """One conversion, step by step."""

    def __init__(self, material: Material, folder: Path, cut: Cut, memory: int) -> None:
        self.material = material
        self.folder = folder
        self.building = folder / BUILDING
        self.cut = cut
        self.memory = memory
        self.build = uuid.uuid4().hex[:8]
        self.firsts: list[int] = []

    def run(self) -> None:
        reader = self.material.reader()
        notes: list[str] = []
        with self.material.unchanged():
            kept = self._choose(reader, notes)
            if not len(kept.records):
                raise nothing_kept(self.material, kept.cut)
            starts = file_starts(kept.sizes)
            rows = RowFiles(self.building / "rows", starts, memory=self.memory // 4)
            self._sort(kept, rows)
        files: list[StoredFile] = []
        with progress("writing", len(kept.records)) as advance:
            tables = (rows.table(file) for file in range(len(starts) - 1))
            fingerprint = corpus_fingerprint(self._written(tables, files, advance))
        columns = {name: self._write_column(name, getattr(kept, name)) for name in COLUMNS}
        import pyarrow

        from fastrecall import _core

        Manifest(
            name=self.material.name,
            fingerprint=fingerprint,
            cut=kept.cut,
            made_with=self.cut,
            repos=kept.repos,
            tells_closes=kept.tells_closes,
            files=tuple(files),
            columns=columns,
            generated=self.material.generated,
            notes=(*self.material.notes, *notes, *kept.notes, *mending_notes(reader)),
            versions={"fastrecall": _core.__version__, "pyarrow": pyarrow.__version__},
        ).write(self.folder)
        # What went before; what is open elsewhere goes next time.
        self._remove(lambda name: f"-{self.build}" not in name)

    def _tickets(self, reader: RecordReader, notes: list[str]) -> Iterator[tuple[int, Ticket, int]]:
        """All tickets, with the place of their record among all, and when they were updated."""
        self.firsts = []
        first = count = 0
        for source in self.material.sources:
            self.firsts.append(first)
            for count, ticket, updated_at in read_tickets(source, reader, notes):
                yield first + count - 1, ticket, updated_at
            first, count = first + count, 0

    def _choose(self, reader: RecordReader, notes: list[str]) -> Kept:
        keys = KeyFiles(self.building / "keys")
        mechanical = author_matcher(self.cut.author_filter)
        for record, ticket, updated_at in self._tickets(reader, notes):
            dropped = ticket.kind == "pr" and mechanical(ticket.author)
            keys.add(record, ticket, updated_at, mechanical=dropped)
        keys.flush()
        try:
            return choose(keys, prs=self.cut.window_prs, issues=self.cut.window_issues)
        except OtherTime as error:
            at = int(np.searchsorted(self.firsts, error.record, side="right")) - 1
            number = error.record - self.firsts[at] + 1
            source = self.material.sources[at]
            raise source.bad_record(number, other_time(error.number)) from None

    def _sort(self, kept: Kept, rows: RowFiles) -> None:
        """Put the kept tickets into the files that they belong to."""
        order = np.argsort(kept.records)
        columns = (kept.records[order], order, kept.sizes[order])
        wanted = zip(*map(_each, columns), strict=True)
        expected, node, size = next(wanted)
        place = {repo: at for at, repo in enumerate(kept.repos)}
        missing = len(order)
        with progress("sorting", missing) as advance:
            for record, ticket, _ in self._tickets(self.material.reader(), []):
                if record != expected:
                    continue
                named = ticket if ticket.repo else replace(ticket, repo=kept.renamed)
                code = place.get(named.repo, -1) << 32 | (named.kind == "pr") << 31 | named.number
                if code != kept.codes[node]:
                    raise self._changed()
                rows.add(node, named, size)
                missing -= 1
                if missing % _ADVANCE == 0:
                    advance(_ADVANCE)
                expected, node, size = next(wanted, (-1, -1, 0))
        if missing:
            raise self._changed()
        rows.flush()

    def _written(
        self, tables: Iterator[pa.Table], files: list[StoredFile], advance: Callable[[int], None]
    ) -> Iterator[Ticket]:
        """Write one file after the other into *files*; yields the tickets, in node order."""
        import pyarrow.parquet as pq

        for table in tables:
            name = f"tickets-{self.build}-{len(files):06}.parquet"
            with atomic_write(self.folder / name, binary=True) as file:
                pq.write_table(table, file, compression="zstd", row_group_size=BLOCK)
            files.append(self._stored(name, table.num_rows))
            for first in range(0, table.num_rows, BLOCK):
                yield from tickets_of(table.slice(first, BLOCK))
            advance(table.num_rows)

    def _write_column(self, name: str, values: npt.NDArray[Any]) -> StoredFile:
        file_name = f"{name}-{self.build}.npy"
        with atomic_write(self.folder / file_name, binary=True) as file:
            np.save(file, values, allow_pickle=False)
        return self._stored(file_name, len(values))

    def _stored(self, name: str, rows: int) -> StoredFile:
        path = self.folder / name
        return StoredFile(name, rows, path.stat().st_size, checksum(path))

    def give_up(self) -> None:
        """Remove the files of this conversion, unless it came so far that they are the dataset."""
        with contextlib.suppress(CorpusError):
            if any(self.build in file.name for file in Manifest.read(self.folder).files):
                return
        self._remove(lambda name: f"-{self.build}" in name)

    def _remove(self, goes: Callable[[str], bool]) -> None:
        for pattern in _PATTERNS:
            for path in self.folder.glob(pattern):
                if goes(path.name):
                    with contextlib.suppress(OSError):
                        path.unlink()

    def _changed(self) -> CorpusError:
        return CorpusError(
            f"{self.material.where}: was changed while it was read; run the command again"
        )


def _each(values: npt.NDArray[np.int64]) -> Iterator[int]:
    """The values as plain numbers, of which few exist at a time."""
    for first in range(0, len(values), 1 << 16):
        yield from values[first : first + (1 << 16)].tolist()


def _check_free(folder: Path, material: Material) -> None:
    """Whether a dataset may be written to *folder*.

    Raises:
        CacheError: the folder holds something else.
        InputError: it is the source itself.
    """
    if any(folder.resolve() in path.resolve().parents for path in material.files):
        raise InputError(f"{folder} holds the source itself; choose another folder")
    try:
        there = [path.name for path in folder.iterdir()] if folder.exists() else []
    except OSError as error:
        raise CacheError(
            f"cannot write {folder}: {error.strerror or error}; choose another folder"
        ) from error
    if not is_dataset(folder) and not set(there) <= {_LOCK}:
        raise CacheError(
            f"{folder} holds other things ({', '.join(sorted(there)[:3])}); "
            f"choose a new folder, or one with a dataset ({MANIFEST})"
        )


@contextlib.contextmanager
def _cannot_write(folder: Path) -> Iterator[None]:
    """Tell of a full disk or missing rights in one sentence."""
    try:
        yield
    except OSError as error:
        raise CacheError(
            f"cannot write {folder}: {error.strerror or error}; choose a folder with more room, "
            "or that can be written"
        ) from error
