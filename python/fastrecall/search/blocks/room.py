"""How many vectors and queries fit in an amount of memory.

Counted is all that a task of exact search allocates: what it reads, the index that is made of it,
and for each query its vector, its lists and its results.
"""

from __future__ import annotations

from dataclasses import dataclass

from fastrecall.errors import InputError

ROW_STEP = 16
"""The engine pads rows to a multiple of this many values."""

MANY_QUERIES = 256
"""From as many on, codes of one byte a value pay: making them costs what they save so many."""

LEAST_MEMORY = 1 << 28
"""Bytes below which searches in blocks would be all overhead."""
TASK_MEMORY = 1 << 30
"""Bytes of a task, where nobody said how much."""

_QUERIES_AT_ONCE = 4096
_LIST = 512 + 96  # pairs of one query that the engine keeps while it screens, at usual k
_PAIR_LIST = 128
_MOST_ROWS = 65536  # larger blocks gain nothing


def share_of_search(memory: int | None) -> int:
    """What a task may allocate, of all the *memory* it has: half of it.

    The rest is for the interpreter, the model and what the caller holds.

    >>> share_of_search(None), share_of_search(1)
    (536870912, 134217728)
    """
    return max(memory or TASK_MEMORY, LEAST_MEMORY) // 2


@dataclass(frozen=True)
class Room:
    """The sums for vectors of *dim* values, *k* results a query and *threads* threads."""

    memory: int
    dim: int
    k: int
    threads: int

    def bytes_a_row(self, queries: int, mask_rows: int) -> int:
        """What one vector of a block takes: as read, as a unit vector, its codes, its mask."""
        padded = -(-self.dim // ROW_STEP) * ROW_STEP
        codes = padded + 8 if queries >= MANY_QUERIES else 0
        return 4 * self.dim + 4 * padded + codes + mask_rows

    def bytes_a_query(self) -> int:
        """What a query takes: three copies of its vector, its results, two lists and their sort."""
        padded = -(-self.dim // ROW_STEP) * ROW_STEP
        return 4 * (self.dim + 2 * padded) + 64 * self.k + 16

    def bytes_of_lists(self, queries: int) -> int:
        """What the engine's lists take while it screens."""
        length = max(_LIST, 4 * self.k + 96) + 2 * self.k
        return 8 * length * min(queries, _QUERIES_AT_ONCE) * self.threads

    def most_queries(self, queries: int) -> int:
        """As many of *queries* as may be asked at once: half of the memory is theirs.

        Raises:
            InputError: not even one fits.
        """
        fits = self.memory // 2
        most = (fits - self.bytes_of_lists(_QUERIES_AT_ONCE)) // self.bytes_a_query()
        if most < _QUERIES_AT_ONCE:
            most = fits // (self.bytes_a_query() + self.bytes_of_lists(1))
        if queries and most < 1:
            raise self._too_little(self.bytes_a_query() + self.bytes_of_lists(1), "one query")
        return max(1, min(queries, most))

    def rows_of_block(self, queries: int, mask_rows: int = 0) -> int:
        """How many vectors to read at once for so many queries.

        Raises:
            InputError: not even one fits.
        """
        left = self.memory - queries * self.bytes_a_query() - self.bytes_of_lists(queries)
        fits = left // self.bytes_a_row(queries, mask_rows)
        if fits < 1:
            raise self._too_little(self.bytes_a_row(queries, mask_rows), "one vector")
        return min(fits, _MOST_ROWS)

    def holds_graph(self, rows: int) -> bool:
        """Whether so many vectors can find each other at once: with a coded query and a list each.

        The graph itself is the caller's.
        """
        padded = -(-self.dim // ROW_STEP) * ROW_STEP
        lists = 8 * (max(_PAIR_LIST, 4 * self.k) + 64) + 16 * self.k
        return rows * (self.bytes_a_row(MANY_QUERIES, 0) + padded + 64 + lists) <= self.memory

    def _too_little(self, needed: int, what: str) -> InputError:
        return InputError(
            f"memory is {self.memory} bytes, and half of it has no room for {what} of "
            f"{self.dim} dimensions with k = {self.k} ({needed} bytes); give more"
        )
