"""Many strings as two arrays: a mapped file gives any one of them without reading the others."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import overload

import numpy as np
import numpy.typing as npt

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


def coded(strings: Sequence[str]) -> tuple[list[str], npt.NDArray[np.int32]]:
    """The distinct strings, sorted, and for each string its place among them.

    >>> names, codes = coded(["b", "a", "b"])
    >>> names, codes.tolist()
    (['a', 'b'], [1, 0, 1])
    """
    names = sorted(set(strings))
    place = {name: at for at, name in enumerate(names)}
    return names, np.fromiter(map(place.__getitem__, strings), np.int32, len(strings))


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
