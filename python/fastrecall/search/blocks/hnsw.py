"""Building an approximate index from vectors that need not fit in memory."""

from __future__ import annotations

from fastrecall._memory import parse_bytes
from fastrecall._term import progress
from fastrecall.search.blocks.parts import ranges
from fastrecall.search.blocks.scan import read_rows, told_by_row
from fastrecall.search.hnsw import HNSW
from fastrecall.types import VectorSource

_ROUND = 1024
"""Nodes are linked in rounds of so many; blocks of whole rounds give the graph of one addition."""

_MOST_ROWS = 64 * _ROUND


def add_vectors(index: HNSW, source: VectorSource, *, memory: int | str) -> None:
    """Add all vectors of *source* to *index*, a block at a time.

    To an empty index they give the same graph, and the same file to the last byte, as a single
    `HNSW.add`. The index itself is in memory: with ``storage="int8"`` ``dim + 8 * m`` bytes a
    vector and a little, and while it grows up to twice that. A saved one need not be (`HNSW.load`).

    Args:
        memory: upper bound of the rows that are held besides the index, in bytes or as ``"4GB"``;
            a round of 1,024 is held in any case.

    Raises:
        InputError: as `HNSW.add`; no amount of memory. Blocks before stay in the index.

    >>> import numpy as np
    >>> from fastrecall.search.blocks import ArraySource
    >>> index = HNSW(3)
    >>> add_vectors(index, ArraySource(np.eye(3)), memory="1MB")
    >>> len(index)
    3
    """
    rounds = parse_bytes(memory) // (4 * max(1, source.dim) * _ROUND)
    rows = _ROUND * max(1, min(rounds, _MOST_ROWS // _ROUND))
    with progress("linking", len(source)) as advance:
        for start, stop in ranges(0, len(source), rows):
            block = read_rows(source, start, stop)
            with told_by_row(block, start):
                index.add(block)
            advance(stop - start)
