"""Runs of lines, and how they are packed into chunks: the part that knows no language."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class ChunkSizes:
    """How large a chunk may be, in characters without leading and trailing blanks of lines.

    ``largest``: a bigger unit is split at statement boundaries, into parts near ``target``.
    ``target``: small neighbours are merged up to this. ``small``: an item below it is small.
    ``tiny``: below it neither an import nor the line that opens a container stands alone.
    """

    largest: int = 3000
    target: int = 1600
    small: int = 200
    tiny: int = 60


class Span(NamedTuple):
    """Lines ``start`` to ``end`` (from 0, inclusive) that stay together.

    ``context`` is the path of containers around it, ``symbols`` the paths of what it defines.
    ``mergeable`` is false for what deserves a chunk of its own: a function, a type.
    """

    start: int
    end: int
    context: str = ""
    symbols: tuple[str, ...] = ()
    mergeable: bool = True


class Lines:
    """The lines of a file with their lengths summed, so that a span's size is one subtraction."""

    def __init__(self, text: str) -> None:
        self.rows = text.split("\n")
        self._sums = [0]
        for row in self.rows:
            self._sums.append(self._sums[-1] + len(row.strip()))

    def __len__(self) -> int:
        return len(self.rows)

    def size(self, start: int, end: int) -> int:
        """Characters in lines *start* to *end*, indentation and blank lines not counted."""
        return self._sums[end + 1] - self._sums[start]

    def text(self, start: int, end: int) -> str:
        """The lines as they are."""
        return "\n".join(self.rows[start : end + 1])

    def trimmed(self, start: int, end: int) -> tuple[int, int] | None:
        """The range without blank lines at its ends, or ``None`` when all are blank."""
        while start <= end and not self.rows[start].strip():
            start += 1
        while end >= start and not self.rows[end].strip():
            end -= 1
        return (start, end) if start <= end else None

    def is_blank(self, line: int) -> bool:
        """Whether a line holds nothing but white space."""
        return not self.rows[line].strip()


def merge_small(spans: Sequence[Span], lines: Lines, sizes: ChunkSizes) -> list[Span]:
    """Merge small neighbours, and glue tiny ones to what follows (or, at the end, precedes)."""
    merged: list[Span] = []
    for span in spans:
        if merged and _belong_together(merged[-1], span, lines, sizes):
            merged[-1] = _joined(merged[-1], span)
        else:
            merged.append(span)
    return merged


def _belong_together(left: Span, right: Span, lines: Lines, sizes: ChunkSizes) -> bool:
    together = lines.size(left.start, right.end)
    if together > sizes.largest:
        return False
    left_size, right_size = lines.size(*left[:2]), lines.size(*right[:2])
    if any(
        span.mergeable and size < sizes.tiny
        for span, size in ((left, left_size), (right, right_size))
    ):
        return True
    return (
        left.context == right.context
        and together <= sizes.target
        and (left.mergeable or left_size < sizes.small)
        and (right.mergeable or right_size < sizes.small)
    )


def _joined(left: Span, right: Span) -> Span:
    symbols = tuple(dict.fromkeys((*left.symbols, *right.symbols)))
    return Span(left.start, right.end, left.context, symbols, left.mergeable and right.mergeable)


def pack(atoms: Sequence[Span], lines: Lines, sizes: ChunkSizes) -> list[Span]:
    """Join consecutive atoms into parts of about equal size, none above ``largest``.

    An atom that is larger on its own stays whole; a small rest does not become a part.
    """
    if not atoms:
        return []
    last = atoms[-1].end
    total = lines.size(atoms[0].start, last)
    ideal = total / max(1, math.ceil(total / sizes.target))
    parts = [atoms[0]]
    for atom in atoms[1:]:
        part = parts[-1]
        joined = lines.size(part.start, atom.end)
        # Stop at whichever side of the ideal is nearer.
        overshoot = joined - ideal > ideal - lines.size(part.start, part.end)
        small_rest = lines.size(atom.start, last) < sizes.small
        if joined > sizes.largest or (overshoot and not small_rest):
            parts.append(atom)
        else:
            parts[-1] = part._replace(end=atom.end)
    return parts


def split_by_lines(span: Span, lines: Lines, sizes: ChunkSizes) -> list[Span]:
    """Split at blank lines, and inside a block that is still too large at any line."""
    atoms = [
        atom
        for start, end in _blocks(span.start, span.end, lines)
        for atom in (
            [span._replace(start=start, end=end)]
            if lines.size(start, end) <= sizes.target
            else [span._replace(start=line, end=line) for line in range(start, end + 1)]
        )
    ]
    return pack(atoms, lines, sizes)


def _blocks(start: int, end: int, lines: Lines) -> Iterator[tuple[int, int]]:
    """Runs of lines that end before a non-blank line which follows a blank one."""
    first = start
    for line in range(start + 1, end + 1):
        if lines.is_blank(line - 1) and not lines.is_blank(line):
            yield first, line - 1
            first = line
    yield first, end
