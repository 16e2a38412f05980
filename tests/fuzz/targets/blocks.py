"""Files that searches in blocks keep, and find again. The first line says which.

``postings`` (counted texts) and ``neighbours`` (a part of a graph) are followed by a JSON object
of arrays, by name, that stand in for those of the file; ``sizes`` for what postings say of
theirs. ``bytes postings`` and ``bytes neighbours`` are followed by changes as (offset, byte) in
3 bytes each, and a length that the file is cut to in 2 more. Keys stay, digests are made to fit.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from tests.fuzz.common import empty_folder, expected_errors, must_hold, scratch_folder
from tests.fuzz.mutate import json_text

from fastrecall.search.blocks import ArraySource, BlockedBM25, BlockedIndex, knn
from fastrecall.search.blocks.postings import _SECTIONS

TEXTS = ["crash on empty query", "slow query", "login page is slow", "crash crash", "é"]
MEMORY = 6000  # two texts a block
ROWS_OF_PART = 3
VECTORS = np.array([[1, 0], [1, 1], [0, 1], [-1, 1], [-1, 0]], np.float32)
PAIRS = 2
DIGEST = 16
QUERIES = ["crash query", "slow é login", "nothing"]


def mutate(data, seed, mutate_bytes, max_size):
    kind, _, rest = data.partition(b"\n")
    if kind in (b"postings", b"neighbours") and seed % 8:
        return kind + b"\n" + json_text(rest, seed, mutate_bytes, max_size - 20)
    return kind + b"\n" + mutate_bytes(rest, max(1, max_size - 20))


@cache
def whole() -> Path:
    """A folder with the files of both kinds."""
    folder = scratch_folder() / "blocks"
    searched(folder)
    graph(folder)
    return folder


def searched(folder: Path) -> BlockedBM25:
    return BlockedBM25(TEXTS, memory=MEMORY, folder=folder, threads=1)


def graph(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    index = BlockedIndex(ArraySource(VECTORS), memory="1MB", threads=1)
    with patch.object(knn, "ROWS_OF_PART", ROWS_OF_PART):
        return index.knn_graph(PAIRS, folder=folder)


def array(values: Any, kind: str) -> bytes:
    """The numbers among *values* as an array; whole ones are wrapped to their width."""
    if not isinstance(values, list):
        raise ValueError("no array")
    dtype = np.dtype(kind)
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            return np.array([float(value) for value in values], dtype).tobytes()
    return b"".join(
        (int(value) % (1 << 8 * dtype.itemsize)).to_bytes(dtype.itemsize, "little")
        for value in values
    )


def changed(old: bytes, kind: str, given: Mapping[str, Any]) -> bytes:
    """The rest of a file behind its digest and key, with other arrays."""
    if kind == "neighbours":
        half = len(old) // 2
        ids, scores = given.get("ids"), given.get("scores")
        return (old[:half] if ids is None else array(ids, "<i4")) + (
            old[half:] if scores is None else array(scores, "<f4")
        )
    sizes = np.frombuffer(old[: 8 * len(_SECTIONS)], "<i8").tolist()
    at, parts = 8 * len(_SECTIONS), []
    for place, (name, dtype) in enumerate(_SECTIONS):
        length = sizes[place] * np.dtype(dtype).itemsize
        part = old[at : at + length]
        if name in given:
            part = array(given[name], dtype)
            sizes[place] = len(part) // np.dtype(dtype).itemsize
        parts.append(part)
        at += length
    return array(given.get("sizes", sizes), "<i8") + b"".join(parts)


def spoilt(old: bytes, change: bytes) -> bytes:
    """Some bytes of a file replaced, and its end cut off."""
    new = bytearray(old)
    for at in range(0, len(change) - 2, 3):
        new[int.from_bytes(change[at : at + 2], "little") % len(new)] = change[at + 2]
    left = len(change) % 3
    return bytes(new[: int.from_bytes(change[-2:], "little") if left == 2 else None])


def run(data: bytes) -> None:
    kind, _, rest = data.partition(b"\n")
    how, _, name = kind.decode("latin-1").rpartition(" ")
    if name not in ("postings", "neighbours") or how not in ("", "bytes"):
        return
    folder = empty_folder("kept")
    for path in whole().iterdir():
        content = path.read_bytes()
        if path.name.startswith(f"{name}-{0:012}"):
            key, old = content[DIGEST : 2 * DIGEST], content[2 * DIGEST :]
            try:
                new = spoilt(old, rest) if how else changed(old, name, json.loads(rest))
            except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
                return
            content = blake2b(key + new, digest_size=DIGEST).digest() + key + new
        (folder / path.name).write_bytes(content)
    with expected_errors():
        check_search(searched(folder)) if name == "postings" else check_graph(*graph(folder))


def check_search(index: BlockedBM25) -> None:
    ids, scores = index.search(QUERIES, 4, exclude=[[0], [-1], [4]])
    must_hold(((ids >= -1) & (ids < len(TEXTS))).all(), "ids")
    must_hold((np.isnan(scores) == (ids < 0)).all(), "a score of nothing, or none")
    must_hold(0 not in ids[0] and 4 not in ids[2], "what does not exist")
    for found, its_scores in zip(ids, scores, strict=True):
        found, its_scores = found[found >= 0], its_scores[found >= 0]
        must_hold(np.isfinite(its_scores).all(), "a score that is not finite")
        must_hold(len(set(found.tolist())) == len(found), "an id twice")
        must_hold((its_scores[:-1] >= its_scores[1:]).all(), "order")
    must_hold(index.scores("crash").shape == (len(TEXTS),), "scores of all")


def check_graph(ids: np.ndarray, scores: np.ndarray) -> None:
    must_hold(ids.shape == scores.shape == (len(VECTORS), PAIRS), "shape")
    must_hold(((ids >= -1) & (ids < len(VECTORS))).all(), "ids")
    must_hold((np.isnan(scores) == (ids < 0)).all(), "a score of nothing, or none")
    must_hold(not np.isinf(scores).any(), "a score that is not finite")
    must_hold((ids != np.arange(len(VECTORS))[:, None]).all(), "its own neighbour")
    known = ids >= 0
    must_hold((known[:, :-1] >= known[:, 1:]).all(), "a gap")
    falling = ~(scores[:, :-1] < scores[:, 1:])
    must_hold(falling.all(), "order")
