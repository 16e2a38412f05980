"""Counted blocks → the lists of all texts: what an index keeps of words."""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fastrecall.search.blocks.counting import Block
from fastrecall.search.bm25 import PostingLists
from fastrecall.search.index.strings import Bytes, Ends

_TERMS_AT_ONCE = 4096

_Arrays = Mapping[str, npt.NDArray[Any]]


class Words(NamedTuple):
    """The lists of all texts, and their terms: sorted, term ``i`` of the lists is the ``i``-th.

    ``text`` and ``ends`` are as in `Strings`.
    """

    lists: PostingLists
    text: Bytes
    ends: Ends


def join_blocks(blocks: Sequence[Block]) -> Words:
    """The words of all *blocks*, of which there is at least one, in the order of their texts.

    In memory are the result, 8 bytes for each text that holds a term, and 4 bytes for each term of
    each block; the blocks are mapped.

    Raises:
        CacheError: a file of a block has gone, become shorter, or was replaced.
    """
    parts: list[_Arrays] = [block.file.arrays() for block in blocks]
    text, ends, numbers = _joined_terms(parts)
    holders = np.zeros(len(ends), np.int64)
    for part, number in zip(parts, numbers, strict=True):
        holders[number] += np.diff(part["offsets"])
    offsets = np.zeros(len(ends) + 1, np.int64)
    np.cumsum(holders, out=offsets[1:])
    nodes, counts = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], np.float32)
    filled = offsets[:-1].copy()
    for (rows, _), part, number in zip(blocks, parts, numbers, strict=True):
        starts, sizes = part["offsets"][:-1], np.diff(part["offsets"])
        places = np.repeat(filled[number] - starts, sizes) + np.arange(len(part["nodes"]))
        nodes[places] = part["nodes"] + np.int32(rows[0])
        counts[places] = part["counts"]
        filled[number] += sizes
    lengths = np.concatenate([part["lengths"] for part in parts], axis=1).astype(np.int64)
    lists = PostingLists(offsets, nodes, counts, lengths, np.array(parts[0]["weights"]))
    return Words(lists, text, ends)


def _joined_terms(parts: Sequence[_Arrays]) -> tuple[Bytes, Ends, list[npt.NDArray[np.int32]]]:
    """All terms, sorted, and for each block the new numbers of its terms by their old ones."""
    numbers = [np.empty(len(part["numbers"]), np.int32) for part in parts]
    text, ends = bytearray(), array("q")
    last: bytes | None = None
    # In UTF-8 the order of bytes is that of characters.
    for term, block, number in heapq.merge(*map(_terms_of, range(len(parts)), parts)):
        if term != last:
            text += term
            ends.append(len(text))
            last = term
        numbers[block][number] = len(ends) - 1
    return np.frombuffer(text, np.uint8), np.array(ends, np.int64), numbers


def _terms_of(block: int, part: _Arrays) -> Iterator[tuple[bytes, int, int]]:
    """The terms of a block, sorted: what each says, the block, its number there."""
    start = 0
    for first in range(0, len(part["ends"]), _TERMS_AT_ONCE):
        some = slice(first, first + _TERMS_AT_ONCE)
        ends = part["ends"][some].tolist()
        text, before = part["text"][start : ends[-1]].tobytes(), start
        for end, number in zip(ends, part["numbers"][some].tolist(), strict=True):
            yield text[start - before : end - before], block, number
            start = end
