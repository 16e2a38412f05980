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
    """The postings of one block of texts.

    A file is a digest of all that follows, the key that tells what was counted and how, the number
    of values of each of its arrays, and the arrays.
    """

    path: Path

    def write(self, key: bytes, lists: PostingLists, vocabulary: dict[str, int]) -> None:
        """Write what `posting_lists` counted, whole or not at all.

        Raises:
            CacheError: the folder cannot be written.
        """
        text, ends, numbers = sorted_terms(vocabulary)
        arrays = {**lists._asdict(), "text": text, "ends": ends, "numbers": numbers}
        parts = [np.ascontiguousarray(arrays[name], kind) for name, kind in _SECTIONS]
        sizes = np.array([part.size for part in parts], "<i8")
        rest = [key, sizes.tobytes(), *(part.tobytes() for part in parts)]
        digest = hashlib.blake2b(digest_size=_DIGEST)
        for part in rest:
            digest.update(part)
        with atomic_write(self.path, binary=True) as file:
            file.write(digest.digest())
            for part in rest:
                file.write(part)

    def holds(self, key: bytes) -> bool:
        """Whether the file is there, with that key, and unchanged."""
        digest = hashlib.blake2b(digest_size=_DIGEST)
        try:
            with self.path.open("rb") as file:
                head = file.read(2 * _DIGEST)
                if head[_DIGEST:] != key:
                    return False
                digest.update(key)
                while part := file.read(1 << 20):
                    digest.update(part)
        except OSError:
            return False
        return digest.digest() == head[:_DIGEST]

    def read(self, terms: Sequence[str]) -> PostingLists:
        """The lists of *terms* alone, numbered as they stand there; of a term that no text of the
        block holds, an empty one.

        Raises:
            CacheError: the file has gone or become shorter.
        """
        try:
            with self.path.open("rb") as file:
                return self._asked(file, terms)
        except OSError as error:
            raise CacheError(f"cannot read {self.path} any more: {error}") from error

    def _asked(self, file: BinaryIO, terms: Sequence[str]) -> PostingLists:
        file.seek(2 * _DIGEST)
        sizes = self._values(file, "<i8", len(_SECTIONS)).tolist()
        starts, whole = dict[str, int](), dict[str, npt.NDArray[Any]]()
        for (name, kind), size in zip(_SECTIONS, sizes, strict=True):
            starts[name] = file.tell()
            if name in _BY_TERM:
                file.seek(size * np.dtype(kind).itemsize, os.SEEK_CUR)
            else:
                whole[name] = self._values(file, kind, size)
        vocabulary = SortedTerms(Strings(whole["text"], whole["ends"]), whole["numbers"])
        numbers = [vocabulary.get(term) for term in terms]
        spans = [
            (0, 0) if number is None else whole["offsets"][number : number + 2].tolist()
            for number in numbers
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
        lengths = whole["lengths"].reshape(len(weights), -1).astype(np.int64)
        return PostingLists(offsets, nodes, counts, lengths, weights)

    def _values(self, file: BinaryIO, kind: str, size: int) -> npt.NDArray[Any]:
        values = np.fromfile(file, kind, size)
        if values.size != size:
            raise CacheError(f"{self.path} has become shorter since it was written; start again")
        return values
