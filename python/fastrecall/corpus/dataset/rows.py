"""The second pass over a source: its tickets, sorted into the files that they will be in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fastrecall.corpus.table import to_table
from fastrecall.types import Ticket

if TYPE_CHECKING:
    import pyarrow as pa

FILE_ROWS = 1 << 16
FILE_BYTES = 1 << 26
"""A file ends after so many tickets, or so many bytes of what they say."""

_NODE = "node"
_HELD_EACH = 1024
"""Bytes that a ticket in memory takes beside its texts."""


def file_starts(sizes: npt.NDArray[np.int64]) -> list[int]:
    """The first node of each file, and behind the last the number of nodes.

    >>> file_starts(np.array([10, 1 << 26, 10]))
    [0, 1, 2, 3]
    """
    ends = np.cumsum(sizes)
    starts = [0]
    while starts[-1] < len(sizes):
        start = starts[-1]
        before = int(ends[start - 1]) if start else 0
        fits = int(np.searchsorted(ends, before + FILE_BYTES, side="right"))
        starts.append(min(max(fits, start + 1), start + FILE_ROWS, len(sizes)))
    return starts


class RowFiles:
    """Tickets on their way into files: held up to *memory* bytes, then put beside each other.

    File *i* takes the nodes from ``starts[i]`` to before ``starts[i + 1]``, in any order.
    """

    def __init__(self, folder: Path, starts: Sequence[int], *, memory: int) -> None:
        folder.mkdir(parents=True)
        self._folder = folder
        self._starts = np.array(starts)
        self._memory = memory
        self._held: dict[int, list[tuple[int, Ticket]]] = {}
        self._bytes = 0

    def add(self, node: int, ticket: Ticket, size: int) -> None:
        """Take the ticket of a node, and about how many bytes it says."""
        file = int(self._starts.searchsorted(node, side="right")) - 1
        self._held.setdefault(file, []).append((node, ticket))
        self._bytes += size + _HELD_EACH
        if self._bytes > self._memory:
            self.flush()

    def flush(self) -> None:
        """Write what is held."""
        import pyarrow as pa

        for file, held in self._held.items():
            nodes = pa.array([node for node, _ in held], pa.int64())
            table = to_table(ticket for _, ticket in held).append_column(_NODE, nodes)
            with pa.BufferOutputStream() as sink:
                with pa.ipc.new_stream(sink, table.schema) as writer:
                    writer.write_table(table)
                part = sink.getvalue()
            with self._path(file).open("ab") as out:
                out.write(len(part).to_bytes(8, "little"))
                out.write(part)
        self._held = {}
        self._bytes = 0

    def table(self, file: int) -> pa.Table:
        """The rows of a file in node order; what was kept of them on the way is removed."""
        import pyarrow as pa

        table = pa.concat_tables(self._parts(file)).sort_by(_NODE)
        self._path(file).unlink()
        return table.drop_columns([_NODE])

    def _parts(self, file: int) -> Iterator[pa.Table]:
        import pyarrow as pa

        with self._path(file).open("rb") as parts:
            while head := parts.read(8):
                yield pa.ipc.open_stream(parts.read(int.from_bytes(head, "little"))).read_all()

    def _path(self, file: int) -> Path:
        return self._folder / f"rows-{file:06}"
