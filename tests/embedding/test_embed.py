"""What `embed` promises about its vectors."""

from __future__ import annotations

import numpy as np
import pytest

import fastrecall.embedding as fe
from fastrecall.errors import InputError

TEXTS = [
    "Crash when the log rotates during compaction",
    "",
    "Узел не отвечает после перезапуска",
    "节点在重启后无响应 🎉",
    "x " * 20_000,
    "Crash when the log rotates during compaction",
]


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    return fe.embed(TEXTS, cache=False)


def test_shape_type_and_length(vectors: np.ndarray) -> None:
    assert vectors.shape == (len(TEXTS), 384)
    assert vectors.dtype == np.float32
    assert vectors.flags.c_contiguous
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)


def test_one_text_alone_gets_the_same_vector(vectors: np.ndarray) -> None:
    for text, expected in zip(TEXTS, vectors, strict=True):
        np.testing.assert_allclose(fe.embed([text], cache=False)[0], expected, atol=1e-5)


def test_no_texts() -> None:
    assert fe.embed([], cache=False).shape == (0, 384)


def test_one_string_is_refused() -> None:
    with pytest.raises(InputError, match="one string"):
        fe.embed("text")
