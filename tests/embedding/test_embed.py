"""What `embed` promises about its vectors."""

from __future__ import annotations

import socket
from pathlib import Path

import numpy as np
import pytest

import fastrecall.embedding as fe
from fastrecall._term import interactive
from fastrecall.embedding.cache import VectorWriter
from fastrecall.embedding.onnx import load_encoder
from fastrecall.errors import CacheError, InputError

TEXTS = [
    "Crash when the log rotates during compaction",
    "",
    "Узел не отвечает после перезапуска",
    "节点在重启后无响应 🎉",
    "x " * 20_000,
    "issue #7: timeout\r\nsteps: run it twice",
    "Crash when the log rotates during compaction",
]
# Computed apart from this package: plain onnxruntime, mean over the mask, divided by the length.
FIRST_NUMBERS = [
    [0.06071658, 0.00326974, 0.02268539, -0.00718246],
    [-0.12735291, 0.04087381, -0.00142833, -0.01598578],
    [0.02973363, 0.05012409, -0.04151873, -0.03670713],
    [0.03150092, 0.06889868, 0.01249387, 0.00964395],
    [-0.00468164, -0.04246238, -0.03162106, -0.04555202],
]


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    return fe.embed(TEXTS, cache=False)


def many(count: int) -> list[str]:
    words = ["disk", "queue", "leader", "lock", "retry", "timeout", "shard", "schema", "index"]
    return [
        f"issue #{n}: {' '.join(words[(n * step) % 9] for step in range(1, 3 + n % 12))}"
        for n in range(count)
    ]


def test_shape_type_and_length(vectors: np.ndarray) -> None:
    assert vectors.shape == (len(TEXTS), 384)
    assert vectors.dtype == np.float32
    assert vectors.flags.c_contiguous
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)


def test_the_first_numbers_stay(vectors: np.ndarray) -> None:
    np.testing.assert_allclose(vectors[: len(FIRST_NUMBERS), :4], FIRST_NUMBERS, atol=1e-5)


def test_a_text_alone_gets_the_same_vector(vectors: np.ndarray) -> None:
    for text, expected in zip(TEXTS, vectors, strict=True):
        assert np.array_equal(fe.embed([text], cache=False)[0], expected)


def test_the_order_of_texts_is_the_order_of_vectors() -> None:
    texts = many(60)
    straight = fe.embed(texts, cache=False)
    assert np.array_equal(fe.embed(texts[::-1], cache=False)[::-1], straight)


def test_equal_texts_have_equal_vectors_and_are_embedded_once(vectors: np.ndarray) -> None:
    assert np.array_equal(vectors[0], vectors[-1])
    _, report = fe.embed_with_report(["a", "b", "a"], cache=False)
    assert (report.texts, report.embedded, report.from_cache) == (3, 2, 0)


def test_the_thread_count_changes_no_bit() -> None:
    texts = many(80)
    one = fe.embed(texts, cache=False, threads=1)
    for threads in (2, 7):
        assert np.array_equal(one, fe.embed(texts, cache=False, threads=threads))


def test_what_is_beyond_the_limit_does_not_count() -> None:
    long = "word " * 300
    a, b = fe.embed([long, f"{long} and more"], cache=False)
    np.testing.assert_allclose(a, b, atol=1e-6)


def test_meaning_is_nearer_than_words() -> None:
    crash, abort, paint = fe.embed(
        ["server crashes under load", "segmentation fault when busy", "server room gets painted"],
        cache=False,
    )
    assert crash @ abort > crash @ paint


def test_lone_surrogates_count_as_replacement_characters() -> None:
    broken, replaced = fe.embed(["disk \ud800 full", "disk � full"])
    assert np.array_equal(broken, replaced)


def test_a_pair_of_surrogates_is_the_character_it_spells() -> None:
    pair, character = fe.embed(["\ud83c\udf89 released", "🎉 released"])
    assert np.array_equal(pair, character)


def test_no_texts() -> None:
    vectors, report = fe.embed_with_report([])
    assert vectors.shape == (0, 384)
    assert (report.tokens_per_second, report.padding_share) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("texts", "message"),
    [("text", "one string"), (["a", None], "text 1 is of type NoneType"), ([b"a"], "bytes")],
)
def test_what_is_no_text_is_refused(texts: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        fe.embed(texts)


def test_unknown_options_are_refused() -> None:
    with pytest.raises(InputError, match="expected 'passage' or 'query'"):
        fe.embed(["a"], kind="question")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="threads is 0"):
        fe.embed(["a"], threads=0)


def test_the_report_counts_the_work() -> None:
    texts = many(50)
    _, report = fe.embed_with_report(texts)
    assert (report.texts, report.embedded, report.from_cache) == (50, 50, 0)
    assert report.model.sha256 is not None
    assert 50 * 5 < report.tokens < 50 * 40
    assert report.tokens <= report.padded_tokens
    assert 0 <= report.padding_share < 0.4
    assert report.tokens_per_second > 0


def test_a_second_call_embeds_nothing_and_a_changed_text_one() -> None:
    texts = many(40)
    first = fe.embed(texts)
    again, report = fe.embed_with_report(texts)
    assert np.array_equal(first, again)
    assert (report.embedded, report.from_cache, report.tokens) == (0, 40, 0)
    texts[7] += " changed"
    changed, report = fe.embed_with_report(texts)
    assert (report.embedded, report.from_cache) == (1, 39)
    assert np.array_equal(np.delete(changed, 7, axis=0), np.delete(first, 7, axis=0))


def test_without_cache_nothing_is_written(cache_root: Path) -> None:
    fe.embed(["a"], cache=False)
    assert not cache_root.exists()


def test_a_cache_folder_can_be_given(tmp_path: Path, cache_root: Path) -> None:
    fe.embed(["a"], cache=tmp_path / "mine")
    assert fe.embed_with_report(["a"], cache=tmp_path / "mine")[1].from_cache == 1
    assert not cache_root.exists()


def test_a_cache_that_cannot_be_written_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(CacheError, match="--no-cache"):
        fe.embed(["a"], cache=tmp_path / "file" / "cache")


def test_an_interrupt_keeps_what_was_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = many(120)
    add = VectorWriter.add

    def interrupted(self: VectorWriter, keys: np.ndarray, vectors: np.ndarray) -> None:
        if self.added >= 60:
            raise KeyboardInterrupt
        add(self, keys, vectors)

    with monkeypatch.context() as patch:
        patch.setattr(VectorWriter, "add", interrupted)
        with pytest.raises(KeyboardInterrupt):
            fe.embed(texts)
    vectors, report = fe.embed_with_report(texts)
    assert report.from_cache >= 60
    np.testing.assert_allclose(vectors, fe.embed(texts, cache=False), atol=1e-5)


def test_the_embedded_model_needs_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_network(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", no_network)
    load_encoder.cache_clear()
    assert fe.embed(["offline"]).shape == (1, 384)


def test_nothing_is_drawn_where_nobody_watches(capfd: pytest.CaptureFixture[str]) -> None:
    assert not interactive()
    fe.embed(many(120), cache=False)
    assert capfd.readouterr() == ("", "")
