"""Deterministic vectors from hashed words and letter groups: for tests and dry runs.

Texts that share words come out near each other and nothing more is promised: there is no meaning
in these vectors, and no number measured with them says anything about a real model.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Sequence

import numpy as np

from fastrecall.types import Vectors

_WORD = re.compile(r"\w+")
_LETTERS = 4
_LETTERS_WEIGHT = 0.35
_ROWS_AT_ONCE = 512


def fake_vectors(texts: Sequence[str], dim: int) -> Vectors:
    """Signed feature hashing of words (weight 1) and of their groups of four letters, L2 = 1.

    A text without words gets the first unit vector. Source: Weinberger et al., "Feature Hashing for
    Large Scale Multitask Learning", 2009.

    >>> a, b, c = fake_vectors(["disk is full", "the disk is full", "login page"], 384)
    >>> bool(a @ b > a @ c)
    True
    """
    known: dict[str, dict[int, float]] = {}
    vectors = np.empty((len(texts), dim), dtype=np.float32)
    for start in range(0, len(texts), _ROWS_AT_ONCE):
        part = texts[start : start + _ROWS_AT_ONCE]
        vectors[start : start + len(part)] = _sums(part, dim, known)
    norms = np.linalg.norm(vectors, axis=1)
    nothing = norms < 1e-6
    vectors[nothing] = 0.0
    vectors[nothing, 0] = 1.0
    norms[nothing] = 1.0
    vectors /= norms[:, None]
    return vectors


def _sums(texts: Sequence[str], dim: int, known: dict[str, dict[int, float]]) -> Vectors:
    cells: list[int] = []
    weights: list[float] = []
    for row, text in enumerate(texts):
        first = row * dim
        for word, times in Counter(_WORD.findall(text.lower())).items():
            features = known.get(word)
            if features is None:
                features = known[word] = _features(word, dim)
            scale = float(times) ** 0.5  # a repeated word counts less each time
            cells.extend([first + slot for slot in features])
            weights.extend([scale * weight for weight in features.values()])
    sums = np.bincount(
        np.asarray(cells, dtype=np.int64), np.asarray(weights), minlength=len(texts) * dim
    )
    return sums.reshape(len(texts), dim).astype(np.float32)


def _features(word: str, dim: int) -> dict[int, float]:
    """Slot -> signed weight of one word."""
    features: dict[int, float] = {}
    edged = f"^{word}$"
    groups = [edged[at : at + _LETTERS] for at in range(len(edged) - _LETTERS + 1)]
    for token, weight in [(word, 1.0), *((group, _LETTERS_WEIGHT) for group in groups)]:
        value = zlib.crc32(token.encode("utf-8"))
        slot = (value >> 1) % dim
        features[slot] = features.get(slot, 0.0) + (weight if value & 1 else -weight)
    return features
