"""Whether the arrays of an index fit together: checked once, when it is opened.

Checksums say that a file is what was written. This says that what was written makes sense, so that
no later step meets an id that leads nowhere or a text that ends before it begins.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Arrays = Mapping[str, npt.NDArray[Any]]

_TEXTS = ("title", "body", "url")
_NAMES = ("repo", "author", "state", "state_reason")
_TYPES: Mapping[str, str] = {
    "is_pr": "bool",
    "number": "int64",
    "created_at": "int64",
    "closed_at": "int64",
    "merged_at": "int64",
    "vectors": "float32",
    "bm25_offsets": "int64",
    "bm25_nodes": "int32",
    "bm25_counts": "float32",
    "bm25_lengths": "int64",
    "bm25_weights": "float64",
    "term_numbers": "int32",
    "link_issues": "int32",
    "link_prs": "int32",
    "mentions": "int32",
    **{f"{name}_code": "int32" for name in _NAMES},
    **{f"{name}_bytes": "uint8" for name in (*_TEXTS, *_NAMES, "term")},
    **{f"{name}_ends": "int64" for name in (*_TEXTS, *_NAMES, "term")},
}
_TWO_DIMENSIONS = frozenset({"vectors", "bm25_lengths", "mentions"})


class MisfitError(Exception):
    """An array, by its name, and what is wrong with it."""

    def __init__(self, name: str, what: str) -> None:
        super().__init__(what)
        self.name = name


def check_arrays(arrays: Arrays, *, nodes: int, dim: int) -> None:
    """Look at every array of an index of so many nodes and dimensions.

    Raises:
        MisfitError: one is missing, of another type or shape, or leads out of another.
    """
    for name, dtype in _TYPES.items():
        array = arrays.get(name)
        if array is None:
            raise MisfitError(name, "it is missing")
        if array.dtype != dtype or array.ndim != (2 if name in _TWO_DIMENSIONS else 1):
            raise MisfitError(name, f"it holds {array.dtype} {array.shape}, expected {dtype}")
    for name in ("is_pr", "number", "created_at", "closed_at", "merged_at"):
        _has_length(arrays, name, nodes)
    for name in (*_TEXTS, *_NAMES, "term"):
        _check_ends(arrays, name)
    for name in _TEXTS:
        _has_length(arrays, f"{name}_ends", nodes)
    for name in _NAMES:
        _has_length(arrays, f"{name}_code", nodes)
        _check_range(arrays, f"{name}_code", len(arrays[f"{name}_ends"]))
    terms = len(arrays["term_ends"])
    _has_length(arrays, "term_numbers", terms)
    _check_range(arrays, "term_numbers", terms)
    _has_length(arrays, "bm25_offsets", terms + 1)
    if arrays["bm25_lengths"].shape[1] != nodes:
        raise MisfitError("bm25_lengths", f"it is of another number of tickets than {nodes}")
    if arrays["vectors"].shape != (nodes, dim):
        raise MisfitError("vectors", f"its shape is {arrays['vectors'].shape}, not {(nodes, dim)}")
    _has_length(arrays, "link_prs", len(arrays["link_issues"]))
    if arrays["mentions"].shape[1] != 2:
        raise MisfitError("mentions", f"its shape is {arrays['mentions'].shape}, not of pairs")
    for name in ("link_issues", "link_prs", "mentions"):
        _check_range(arrays, name, nodes)


def _has_length(arrays: Arrays, name: str, length: int) -> None:
    if len(arrays[name]) != length:
        raise MisfitError(name, f"it has {len(arrays[name])} entries, expected {length}")


def _check_range(arrays: Arrays, name: str, end: int) -> None:
    values = arrays[name]
    if len(values) and not (values.min() >= 0 and values.max() < end):
        raise MisfitError(name, f"it holds numbers outside of 0 to {end - 1}")


def _check_ends(arrays: Arrays, name: str) -> None:
    """Ends of strings ascend from 0 on, and the last one is that of the bytes."""
    ends = arrays[f"{name}_ends"]
    last = ends[-1] if len(ends) else 0
    if last != len(arrays[f"{name}_bytes"]) or (np.diff(ends, prepend=0) < 0).any():
        raise MisfitError(f"{name}_ends", "its texts do not follow each other")
