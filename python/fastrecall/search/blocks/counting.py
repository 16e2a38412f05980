"""Texts into files of counted blocks, each of as many texts as can be counted in the memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from fastrecall._files import remove_leftovers
from fastrecall._term import progress
from fastrecall.errors import InputError
from fastrecall.execution import Executor
from fastrecall.search.blocks.parts import LEFT_ALONE_S, Range, ranges
from fastrecall.search.blocks.postings import PostingFile
from fastrecall.search.bm25 import Terms, posting_lists
from fastrecall.search.index.strings import packed

TEXTS_OF_TASK = 1 << 16
"""Texts that a task counts, in as many blocks as its memory asks for."""

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


class Block(NamedTuple):
    """Texts that were counted: their numbers, and the file."""

    rows: Range
    file: PostingFile


def count_all(counting: Counting, executor: Executor) -> list[Block]:
    """Count all texts, in tasks of so many that handing them out costs nothing beside.

    Raises:
        InputError, CacheError: as `count_texts`.
    """
    remove_leftovers(counting.folder, "postings-*", idle_s=LEFT_ALONE_S)
    blocks: list[Block] = []
    tasks = ranges(0, len(next(iter(counting.fields.values()))), TEXTS_OF_TASK)
    with progress("counting words", len(tasks)) as advance:
        for counted in executor.map(count_texts, tasks, shared=counting):
            blocks += counted
            advance(1)
    return blocks


def count_texts(counting: Counting, task: Range, threads: int) -> list[Block]:
    """Count the texts of *task*, in as many blocks as it takes.

    Raises:
        InputError: the texts are fewer than they said to be.
        CacheError: the folder cannot be written.
    """
    blocks = []
    for rows, texts in _blocks_of_texts(counting, task):
        path = counting.folder / f"postings-{rows[0]:012}-{rows[1]:012}"
        file = PostingFile(path, _key(counting, rows, texts), rows[1] - rows[0])
        if not file.is_whole():
            file.write(
                *posting_lists(
                    texts,
                    weights=counting.weights,
                    terms=counting.terms,
                    mask_references=counting.mask_references,
                ),
            )
        blocks.append(Block(rows, file))
    return blocks


def _blocks_of_texts(counting: Counting, task: Range) -> Iterator[tuple[Range, Texts]]:
    """The texts of a task, in blocks that can be counted in the memory; of one text at least."""
    block: Texts = {name: [] for name in counting.fields}
    start, size, taken = task[0], 0, 0
    for first, last in ranges(*task, _TEXTS_AT_ONCE):
        some = {name: list(field[first:last]) for name, field in counting.fields.items()}
        came = min(map(len, some.values()))
        if came != last - first:
            raise InputError(
                f"texts {first} to {last}: {came} came; the texts changed while they were read"
            )
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
