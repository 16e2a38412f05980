"""Texts into files of counted blocks, each of as many texts as can be counted in the memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fastrecall.search.blocks.parts import Range, ranges
from fastrecall.search.blocks.postings import PostingFile
from fastrecall.search.bm25 import Terms, posting_lists
from fastrecall.search.index.strings import packed

Texts = dict[str, list[str]]
"""Some texts, by field."""

_TEXTS_AT_ONCE = 1 << 10
_VERSION = 1

# What counting takes at its peak, by measuring texts that were made to take much.
_BYTES_A_TEXT = 600
_BYTES_A_LETTER = 128
_BYTES_A_LETTER_BEYOND_ASCII = 600


@dataclass(frozen=True)
class Counting:
    """What all tasks of counting share."""

    fields: Mapping[str, Sequence[str]]
    weights: Mapping[str, float]
    terms: Terms
    mask_references: bool
    folder: Path
    memory: int


def count_texts(counting: Counting, task: Range, threads: int) -> list[Range]:
    """Count the texts of *task*; returns the blocks that they were cut into."""
    blocks = []
    for (start, stop), texts in _blocks_of_texts(counting, task):
        file = block_file(counting.folder, (start, stop))
        key = _key(counting, (start, stop), texts)
        if not file.holds(key):
            file.write(
                key,
                *posting_lists(
                    texts,
                    weights=counting.weights,
                    terms=counting.terms,
                    mask_references=counting.mask_references,
                ),
            )
        blocks.append((start, stop))
    return blocks


def block_file(folder: Path, block: Range) -> PostingFile:
    """Where a block is."""
    start, stop = block
    return PostingFile(folder / f"postings-{start:012}-{stop:012}", texts=stop - start)


def _blocks_of_texts(counting: Counting, task: Range) -> Iterator[tuple[Range, Texts]]:
    """The texts of a task, in blocks that can be counted in the memory; of one text at least."""
    block: Texts = {name: [] for name in counting.fields}
    start, size, taken = task[0], 0, 0
    for first, last in ranges(*task, _TEXTS_AT_ONCE):
        some = {name: list(field[first:last]) for name, field in counting.fields.items()}
        for at in range(last - first):
            needed = sum(_bytes_to_count(texts[at]) for texts in some.values())
            if size and taken + needed > counting.memory:
                yield (start, start + size), block
                block = {name: [] for name in block}
                start, size, taken = start + size, 0, 0
            for name, texts in some.items():
                block[name].append(texts[at])
            size, taken = size + 1, taken + needed
    if size:
        yield (start, start + size), block


def _bytes_to_count(text: str) -> int:
    letter = _BYTES_A_LETTER if text.isascii() else _BYTES_A_LETTER_BEYOND_ASCII
    return _BYTES_A_TEXT + letter * len(text)


def _key(counting: Counting, block: Range, texts: Texts) -> bytes:
    """What tells a counted block from that of other texts or options."""
    digest = hashlib.blake2b(digest_size=16)
    terms = getattr(counting.terms, "__module__", ""), getattr(counting.terms, "__qualname__", "")
    weights = sorted(counting.weights.items())
    options = (_VERSION, block, list(texts), weights, terms, counting.mask_references)
    digest.update(repr(options).encode())
    for field in texts.values():
        for array in packed(field):
            digest.update(array.tobytes())
    return digest.digest()
