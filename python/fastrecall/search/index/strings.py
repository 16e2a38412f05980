"""Many strings as two arrays: a mapped file gives any one of them without reading the others."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import overload

import numpy as np
import numpy.typing as npt

from fastrecall.errors import CacheError

Bytes = npt.NDArray[np.uint8]
Ends = npt.NDArray[np.int64]


def packed(strings: Iterable[str]) -> tuple[Bytes, Ends]:
    """The strings in UTF-8 behind each other, and where each one ends; lone surrogates go along.

    >>> blob, ends = packed(["é", "", "ab"])
    >>> len(blob), ends.tolist(), list(Strings(blob, ends))
    (4, [2, 2, 4], ['é', '', 'ab'])
    """
    parts = [string.encode("utf-8", "surrogatepass") for string in strings]
    ends = np.cumsum(np.fromiter(map(len, parts), np.int64, len(parts)), dtype=np.int64)
    return np.frombuffer(b"".join(parts), np.uint8), ends


class PackedFile:
    """`packed` for strings that come one by one and need not fit in memory.

    Raises:
        CacheError: the file cannot be written.

    >>> import tempfile
    >>> with PackedFile(Path(tempfile.mkdtemp()) / "texts") as texts:
    ...     texts.add("é")
    ...     texts.add("ab")
    >>> list(Strings(*texts.arrays()))
    ['é', 'ab']
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ends = array("q")
        self._size = 0

    def __enter__(self) -> PackedFile:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("wb")
        except OSError as error:
            raise self._cannot_write(error) from error
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._file.close()
        except OSError as error:
            raise self._cannot_write(error) from error

    def add(self, string: str) -> None:
        """Take the next string."""
        try:
            self._size += self._file.write(string.encode("utf-8", "surrogatepass"))
        except OSError as error:
            raise self._cannot_write(error) from error
        self._ends.append(self._size)

    def arrays(self) -> tuple[Bytes, Ends]:
        """The strings, mapped, and where each one ends."""
        ends = np.array(self._ends, np.int64)
        # What is empty cannot be mapped.
        blob = np.memmap(self._path, np.uint8, "r") if self._size else np.empty(0, np.uint8)
        return blob, ends

    def _cannot_write(self, error: OSError) -> CacheError:
        return CacheError(f"cannot write {self._path}: {error.strerror or error}")


class Codes:
    """Strings of which there are few different ones, as numbers.

    >>> codes = Codes()
    >>> for name in "bab":
    ...     codes.add(name)
    >>> codes.names, codes.array().tolist()
    (['a', 'b'], [1, 0, 1])
    """

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._codes = array("i")

    def add(self, string: str) -> None:
        """Take the next string."""
        self._codes.append(self._places.setdefault(string, len(self._places)))

    @property
    def names(self) -> list[str]:
        """The different strings, sorted."""
        return sorted(self._places)

    def array(self) -> npt.NDArray[np.int32]:
        """For each string its place among the names."""
        rank = np.empty(len(self._places), np.int32)
        rank[[self._places[name] for name in self.names]] = np.arange(len(rank))
        return rank[np.array(self._codes, np.intp)]


class Strings(Sequence[str]):
    """What `packed` made, as a sequence."""

    def __init__(self, blob: Bytes, ends: Ends) -> None:
        # Slices of a plain array cost a fraction of those of a mapped one.
        self._bytes, self._ends = blob.view(np.ndarray), ends.view(np.ndarray)

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(len(self)))]
        if at < 0:
            at += len(self)
        start = self._ends[at - 1] if at else 0
        data = self._bytes[start : self._ends[at]].tobytes()
        try:
            return data.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:  # not what `packed` made
            return data.decode("utf-8", "replace")


class SortedTerms:
    """The vocabulary of keyword search: looked up in the mapped file by bisection.

    >>> terms = SortedTerms.of({"crash": 0, "atom": 1})
    >>> terms.get("crash"), terms.get("bee")
    (0, None)
    """

    def __init__(self, terms: Strings, numbers: npt.NDArray[np.int32]) -> None:
        self._terms, self._numbers = terms, numbers

    @classmethod
    def of(cls, vocabulary: dict[str, int]) -> SortedTerms:
        """The terms of a dict."""
        blob, ends, numbers = sorted_terms(vocabulary)
        return cls(Strings(blob, ends), numbers)

    def get(self, term: str) -> int | None:
        """The number of *term*, None when it is not there."""
        at = bisect_left(self._terms, term)
        if at < len(self._terms) and self._terms[at] == term:
            return int(self._numbers[at])
        return None


def sorted_terms(vocabulary: dict[str, int]) -> tuple[Bytes, Ends, npt.NDArray[np.int32]]:
    """The arrays of `SortedTerms`: terms (two arrays) and the number of each."""
    items = sorted(vocabulary.items())
    numbers = np.fromiter((number for _, number in items), np.int32, len(items))
    return *packed(term for term, _ in items), numbers
