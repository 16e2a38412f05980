"""Embedding from many threads at once, and in a forked child."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from tests.forked import in_child, needs_fork

from fastrecall import embed
from fastrecall.embedding import embed_question, resolve_model

TEXTS = [f"crash number {n} in the parser of {n * 'very '}long lines" for n in range(24)]


def test_threads_that_embed_at_once_get_the_same(cache_root: Path) -> None:
    expected = embed(TEXTS, cache=False, threads=1)
    question = embed_question(TEXTS[0], resolve_model())

    def work(turn: int) -> bool:
        if turn % 3 == 2:
            return np.array_equal(embed_question(TEXTS[0], resolve_model()), question)
        return np.array_equal(embed(TEXTS, cache=turn % 3 == 1, threads=2), expected)

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(work, range(12)))


@needs_fork
def test_a_child_embeds_as_its_parent(cache_root: Path) -> None:
    expected = embed(TEXTS, threads=2)

    def work() -> bool:
        fresh = embed(TEXTS, cache=False, threads=2)
        cached = embed(TEXTS, threads=2)
        return np.array_equal(fresh, expected) and np.array_equal(cached, expected)

    assert in_child(work) == "True"
    assert np.array_equal(embed(TEXTS, cache=False), expected)


@needs_fork
def test_a_child_of_a_parent_that_is_embedding_embeds_too() -> None:
    expected = embed(TEXTS, cache=False, threads=2)
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            embed(TEXTS, cache=False, threads=2)

    busy = threading.Thread(target=work)
    busy.start()
    try:
        for _ in range(3):
            child = in_child(lambda: np.array_equal(embed(TEXTS, cache=False), expected))
            assert child == "True"
    finally:
        stop.set()
        busy.join()


@needs_fork
def test_a_child_loads_the_model_anew() -> None:
    from fastrecall.embedding.onnx import load_encoder

    model = resolve_model()
    encoder = load_encoder(model, 1)
    assert load_encoder(model, 1) is encoder
    assert in_child(lambda: load_encoder(model, 1) is encoder) == "False"
    assert load_encoder(model, 1) is encoder
