"""Files of counted texts: the postings of a block, of which a search reads those it asks for."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from fastrecall._files import atomic_write
from fastrecall.errors import CacheError
from fastrecall.search.bm25 import PostingLists
from fastrecall.search.index.strings import SortedTerms, Strings, sorted_terms

_DIGEST = 16
_SECTIONS: tuple[tuple[str, str], ...] = (
    ("offsets", "<i8"),  # [terms + 1]
    ("weights", "<f8"),  # [fields]
    ("ends", "<i8"),  # [terms], of the sorted terms in `text`
    ("numbers", "<i4"),  # [terms], of the sorted terms
    ("lengths", "<i4"),  # [fields, nodes]
    ("nodes", "<i4"),  # [pairs], ascending within a term, counted from the block's first
    ("counts", "<f4"),  # [pairs]
    ("text", "u1"),
)
_BY_TERM = ("nodes", "counts")


@dataclass(frozen=True)
class PostingFile:
    """The postings of one block of so many *texts*.

    A file is a digest of all that follows, the ``key`` that tells what was counted and how, the
    number of values of each of its arrays, and the arrays.
    """

    path: Path
    key: bytes
    texts: int

    def write(self, lists: PostingLists, vocabulary: dict[str, int]) -> None:
        """Write what `posting_lists` counted, whole or not at all.

        Raises:
            CacheError: the folder cannot be written.
        """
        text, ends, numbers = sorted_terms(vocabulary)
        arrays = {**lists._asdict(), "text": text, "ends": ends, "numbers": numbers}
        parts = [np.ascontiguousarray(arrays[name], kind) for name, kind in _SECTIONS]
        sizes = np.array([part.size for part in parts], "<i8")
        rest: list[bytes | memoryview] = [self.key, sizes.data, *(part.data for part in parts)]
        digest = hashlib.blake2b(digest_size=_DIGEST)
        for part in rest:
            digest.update(part)
        with atomic_write(self.path, binary=True) as file:
            file.write(digest.digest())
            for part in rest:
                file.write(part)

    def is_whole(self) -> bool:
        """Whether the file is there, with the key, and unchanged."""
        digest = hashlib.blake2b(digest_size=_DIGEST)
        try:
            with self.path.open("rb") as file:
                head = file.read(2 * _DIGEST)
                if head[_DIGEST:] != self.key:
                    return False
                digest.update(self.key)
                while part := file.read(1 << 20):
                    digest.update(part)
        except OSError:
            return False
        return digest.digest() == head[:_DIGEST]

    def read(self, terms: Sequence[str]) -> PostingLists:
        """The lists of *terms* alone, numbered as they stand there; of a term that no text of the
        block holds, an empty one.

        Raises:
            CacheError: the file has gone, become shorter, was replaced, or holds what does not fit
                together.
        """
        try:
            with self.path.open("rb") as file:
                return self._asked(file, terms)
        except OSError as error:
            raise self._gone(error) from error

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All arrays of the block, mapped; ``lengths`` ``[fields, nodes]``.

        Raises:
            CacheError: see `read`.
        """
        arrays = dict[str, npt.NDArray[Any]]()
        try:
            with self.path.open("rb") as file:
                sizes = self._sizes(file)
                at = file.tell()
            for name, kind in _SECTIONS:
                size = sizes[name]
                # What is empty cannot be mapped.
                arrays[name] = (
                    np.memmap(self.path, kind, "r", at, (size,)) if size else np.empty(0, kind)
                )
                at += arrays[name].nbytes
        except ValueError as error:
            raise self._shorter() from error
        except OSError as error:
            raise self._gone(error) from error
        arrays["lengths"] = arrays["lengths"].reshape(len(arrays["weights"]), self.texts)
        return arrays

    def _asked(self, file: BinaryIO, terms: Sequence[str]) -> PostingLists:
        sizes = self._sizes(file)
        starts, whole = dict[str, int](), dict[str, npt.NDArray[Any]]()
        for name, kind in _SECTIONS:
            starts[name] = file.tell()
            if name in _BY_TERM:
                file.seek(sizes[name] * np.dtype(kind).itemsize, os.SEEK_CUR)
            else:
                whole[name] = self._values(file, kind, sizes[name])
        vocabulary = SortedTerms(Strings(whole["text"], whole["ends"]), whole["numbers"])
        spans = [
            (0, 0) if number is None else self._span(whole["offsets"], number, sizes["nodes"])
            for number in map(vocabulary.get, terms)
        ]
        offsets = np.zeros(len(terms) + 1, np.int64)
        np.cumsum([end - begin for begin, end in spans], out=offsets[1:])
        nodes, counts = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], np.float32)
        for name, values in (("nodes", nodes), ("counts", counts)):
            for place, (begin, end) in enumerate(spans):
                if begin < end:
                    file.seek(starts[name] + begin * values.itemsize)
                    part = self._values(file, values.dtype.str, end - begin)
                    values[offsets[place] : offsets[place + 1]] = part
        weights = whole["weights"]
        lengths = whole["lengths"].reshape(len(weights), self.texts).astype(np.int64)
        return PostingLists(offsets, nodes, counts, lengths, weights)

    def _sizes(self, file: BinaryIO) -> dict[str, int]:
        """How many values each array has, of the file that this one is meant to be.

        Looked at is what the engine does not look at, and what asks for memory.
        """
        if file.read(2 * _DIGEST)[_DIGEST:] != self.key:
            raise CacheError(
                f"{self.path} does not hold what was counted any more; give each index a folder of "
                "its own, and start again"
            )
        values = self._values(file, "<i8", len(_SECTIONS)).tolist()
        sizes = {name: size for (name, _), size in zip(_SECTIONS, values, strict=True)}
        terms, fields = sizes["ends"], sizes["weights"]
        if (
            min(values) < 0
            or (sizes["offsets"], sizes["numbers"]) != (terms + 1, terms)
            or sizes["counts"] != sizes["nodes"]
            or sizes["lengths"] != fields * self.texts
        ):
            raise self.damaged(f"arrays of {values} values do not fit together")
        needed = sum(sizes[name] * np.dtype(kind).itemsize for name, kind in _SECTIONS)
        if needed > os.fstat(file.fileno()).st_size - file.tell():
            raise self._shorter()
        return sizes

    def _span(self, offsets: npt.NDArray[np.int64], number: int, pairs: int) -> tuple[int, int]:
        """Where the list of a term begins and ends."""
        if not 0 <= number < len(offsets) - 1:
            raise self.damaged(f"a term is number {number} of {len(offsets) - 1}")
        begin, end = offsets[number : number + 2].tolist()
        if not 0 <= begin <= end <= pairs:
            raise self.damaged(f"term {number} has the pairs {begin} to {end} of {pairs}")
        return begin, end

    def damaged(self, what: str) -> CacheError:
        """The error for a file whose digest fits, and that nobody can have written so."""
        return CacheError(f"{self.path} is damaged: {what}; remove it and start again")

    def _values(self, file: BinaryIO, kind: str, size: int) -> npt.NDArray[Any]:
        values = np.fromfile(file, kind, size)
        if values.size != size:
            raise self._shorter()
        return values

    def _shorter(self) -> CacheError:
        return CacheError(f"{self.path} has become shorter since it was written; start again")

    def _gone(self, error: OSError) -> CacheError:
        return CacheError(f"cannot read {self.path} any more: {error}")
