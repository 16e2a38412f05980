"""A dataset of tickets, opened: columns mapped, rows read a block at a time."""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from fastrecall.corpus.dataset.place import COLUMNS, Cut, Manifest, StoredFile, damaged
from fastrecall.corpus.table import misfit, tickets_of
from fastrecall.errors import CorpusError
from fastrecall.types import Corpus, LazyTickets, Ticket, TicketColumns

if TYPE_CHECKING:
    import pyarrow.parquet as pq

BLOCK = 1024
"""Tickets of a row group: what is read, and held, for the sake of one."""

_BYTES_HELD = 1 << 25
"""Of texts in the blocks that are held, when there are several."""

_BLOCKS_HELD = 16
_KIND_BITS = {"issue": 0, "pr": 1 << 31}
_OPEN_FILES = 16
_READ_AT_ONCE = 1 << 22


def open_dataset(folder: Path, cut: Cut | None = None) -> Corpus:
    """The corpus in *folder*, as `write_dataset` wrote it; tickets are read when they are needed.

    Args:
        folder: the dataset.
        cut: how the corpus is wanted, if it matters; what nobody asked for (the defaults) does not.

    Raises:
        CorpusError: it is damaged, or cut otherwise.
    """
    manifest = Manifest.read(folder)
    if cut not in (None, Cut(), manifest.made_with):
        raise CorpusError(
            f"{folder}: the dataset was written with {manifest.made_with}, and {cut} were asked "
            "for; write another one with: fastrecall dataset"
        )
    return Corpus(
        name=manifest.name,
        tickets=DatasetTickets(folder, manifest),
        cut=manifest.cut,
        fingerprint=manifest.fingerprint,
        generated=manifest.generated,
        notes=manifest.notes,
    )


class DatasetTickets(LazyTickets):
    """The tickets of a dataset, in node order.

    Every file is checked when it is first read. At most `_BLOCKS_HELD` blocks of `BLOCK` tickets
    are held, fewer where texts are long. Not to be shared by threads; pickled, it is a path and the
    manifest.
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self._folder = folder.absolute()
        self._manifest = manifest
        self._files = manifest.files
        self._starts = [0, *accumulate(file.rows for file in manifest.files)]
        self._readers: OrderedDict[int, pq.ParquetFile] = OrderedDict()
        self._checked: set[int] = set()
        self._blocks: OrderedDict[int, tuple[list[Ticket], int]] = OrderedDict()
        self._held = 0
        for file in manifest.files:
            _check_size(folder, file)
        arrays = {
            name: _mapped(folder, manifest.columns[name], kind) for name, kind in COLUMNS.items()
        }
        self.columns = TicketColumns(
            repos=manifest.repos,
            codes=arrays["codes"],
            created_at=arrays["created_at"],
            untitled=arrays["untitled"],
            tells_closes=manifest.tells_closes,
        )
        if (column := _misfit_column(self.columns)) is not None:
            raise damaged(folder / manifest.columns[column].name, "no tickets can be so")
        self._codes = {repo: place << 32 for place, repo in enumerate(manifest.repos)}

    def __reduce__(self) -> tuple[type[DatasetTickets], tuple[Path, Manifest]]:
        return DatasetTickets, (self._folder, self._manifest)

    def __len__(self) -> int:
        return self._starts[-1]

    def item(self, at: int) -> Ticket:
        """See `OnDemand`."""
        file = bisect_right(self._starts, at) - 1
        group, row = divmod(at - self._starts[file], BLOCK)
        return self._block(file, group)[row]

    def __iter__(self) -> Iterator[Ticket]:
        for file, stored in enumerate(self._files):
            for group in range(-(-stored.rows // BLOCK)):
                yield from self._read(file, group)[0]

    def _block(self, file: int, group: int) -> list[Ticket]:
        key = self._starts[file] + group * BLOCK
        if key in self._blocks:
            self._blocks.move_to_end(key)
        else:
            self._blocks[key] = self._read(file, group)
            self._held += self._blocks[key][1]
            while len(self._blocks) > 1 and (
                self._held > _BYTES_HELD or len(self._blocks) > _BLOCKS_HELD
            ):
                self._held -= self._blocks.popitem(last=False)[1][1]
        return self._blocks[key][0]

    def _read(self, file: int, group: int) -> tuple[list[Ticket], int]:
        """The tickets of a block, and the bytes that they say."""
        import pyarrow as pa

        stored = self._files[file]
        try:
            table = self._reader(file).read_row_group(group, use_threads=False)
            if (column := misfit(table)) is not None:
                raise ValueError(f"its {column} cannot be of tickets")
            tickets = tickets_of(table)
        except (pa.ArrowException, OSError, ValueError) as error:
            if isinstance(error, CorpusError):
                raise
            reason = str(error).partition("\n")[0]
            raise damaged(self._folder / stored.name, f"it cannot be read ({reason})") from error
        if len(tickets) != min(BLOCK, stored.rows - group * BLOCK):
            raise damaged(self._folder / stored.name, f"block {group} has {len(tickets)} tickets")
        if not self._are_of(self._starts[file] + group * BLOCK, tickets):
            raise damaged(self._folder / stored.name, f"block {group} has other tickets")
        return tickets, table.nbytes

    def _are_of(self, first: int, tickets: list[Ticket]) -> bool:
        """Whether these are the tickets that the columns name, from node *first* on."""
        nodes = slice(first, first + len(tickets))
        codes = [
            self._codes.get(ticket.repo, -1) | _KIND_BITS.get(ticket.kind, -1) | ticket.number
            for ticket in tickets
        ]
        times = [ticket.created_at for ticket in tickets]
        told = self.columns.codes[nodes].tolist(), self.columns.created_at[nodes].tolist()
        return (codes, times) == told

    def _reader(self, file: int) -> pq.ParquetFile:
        import pyarrow.parquet as pq

        reader = self._readers.get(file)
        if reader is None:
            path = self._folder / self._files[file].name
            if file not in self._checked:
                _check_contents(self._folder, self._files[file])
                self._checked.add(file)
            reader = self._readers[file] = pq.ParquetFile(path)
            if len(self._readers) > _OPEN_FILES:
                self._readers.popitem(last=False)[1].close()
        else:
            self._readers.move_to_end(file)
        return reader


def _misfit_column(columns: TicketColumns) -> str | None:
    """The column whose numbers cannot be those of tickets in node order; None: there is none."""
    codes, untitled, repos = columns.codes, columns.untitled, columns.repos
    if len(codes) and (codes[0] < 0 or codes[-1] >> 32 >= len(repos)):
        return "codes"
    if (codes[1:] <= codes[:-1]).any() or list(repos) != sorted(set(repos)):
        return "codes"
    if len(untitled) and (untitled[0] < 0 or untitled[-1] >= len(codes)):
        return "untitled"
    return "untitled" if (untitled[1:] <= untitled[:-1]).any() else None


def _check_size(folder: Path, file: StoredFile) -> None:
    path = folder / file.name
    try:
        size = path.stat().st_size
    except OSError as error:
        raise damaged(path, f"it cannot be read ({error.strerror or error})") from error
    if size != file.bytes:
        raise damaged(path, f"it has {size:,} bytes of {file.bytes:,}")


def _check_contents(folder: Path, file: StoredFile) -> None:
    path = folder / file.name
    _check_size(folder, file)
    try:
        crc = checksum(path)
    except OSError as error:
        raise damaged(path, f"it cannot be read ({error.strerror or error})") from error
    if crc != file.crc32:
        raise damaged(path, "its checksum does not fit")


def checksum(path: Path) -> int:
    """The CRC-32 of a file."""
    crc = 0
    with path.open("rb") as file:
        while part := file.read(_READ_AT_ONCE):
            crc = zlib.crc32(part, crc)
    return crc


def _mapped(folder: Path, file: StoredFile, kind: str) -> npt.NDArray[Any]:
    _check_contents(folder, file)
    # What is empty cannot be mapped.
    mode: Literal["r"] | None = "r" if file.rows else None
    try:
        mapped = np.load(folder / file.name, mmap_mode=mode, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise damaged(folder / file.name, f"it cannot be read ({error})") from error
    if mapped.dtype != np.dtype(kind) or mapped.shape != (file.rows,):
        raise damaged(folder / file.name, f"it holds {mapped.dtype} {mapped.shape}")
    # Slices of a plain array cost a fraction of those of a mapped one.
    array: npt.NDArray[Any] = mapped.view(np.ndarray)
    return array
