"""The hashing embedder: the same everywhere, and honest about what it is."""

from __future__ import annotations

import time

import numpy as np

import fastrecall.embedding as fe


def test_the_numbers_stay() -> None:
    vector = fe.embed(["disk full"], model="fake")[0]
    places = np.flatnonzero(vector)
    assert places.tolist() == [12, 16, 111, 129, 198, 336]
    np.testing.assert_allclose(vector[places[2:4]], [0.17211959, -0.66388983], atol=1e-6)


def test_unit_length_whatever_the_text() -> None:
    texts = ["", "   ", "!!!", "a", "Узел 世界 🎉", "x\ud800", "word " * 8000]
    vectors = fe.embed(texts, model="fake")
    assert vectors.shape == (7, 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert np.array_equal(vectors[0], vectors[2])
    assert vectors[0, 0] == 1


def test_shared_words_bring_texts_together() -> None:
    a, b, c = fe.embed(["the disk is full", "disk full again", "login page is slow"], model="fake")
    assert a @ b > a @ c + 0.2


def test_case_and_order_do_not_matter() -> None:
    a, b = fe.embed(["Disk FULL", "full disk"], model="fake")
    np.testing.assert_allclose(a, b, atol=1e-6)


def test_a_vector_depends_on_its_own_text_only() -> None:
    texts = [f"word{n} and word{n * n}" for n in range(1100)]
    together = fe.embed(texts, model="fake")
    assert np.array_equal(together[600], fe.embed([texts[600]], model="fake")[0])


def test_it_is_described_as_what_it_is() -> None:
    _, report = fe.embed_with_report(["a"], model="fake")
    assert report.model.source == "builtin"
    assert "nothing of meaning" in report.model.about


def test_twenty_thousand_texts_are_quick() -> None:
    texts = [
        f"issue #{n}: " + " ".join(f"w{n * k % 5000}" for k in range(40)) for n in range(20_000)
    ]
    began = time.process_time()
    fe.embed(texts, model="fake")
    assert time.process_time() - began < 5  # takes about 1 s
