"""Cached vectors of every version of the file format, and of one that does not exist yet."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fastrecall.embedding as fe
from fastrecall.embedding.cache import VectorCache
from fastrecall.embedding.segment import KEY_BYTES, encode_block, read_vectors, scan

DATA = Path(__file__).parent / "data"


def block(rows: int, first: int) -> tuple[np.ndarray, np.ndarray]:
    """Keys and vectors that anybody can write down."""
    keys = np.arange(first, first + rows * KEY_BYTES, dtype=np.uint8).reshape(rows, KEY_BYTES)
    vectors = np.arange(first, first + rows * 4, dtype=np.float32).reshape(rows, 4) / 8
    return keys, vectors


def test_a_file_of_version_1_is_read() -> None:
    with (DATA / "segment-1.vectors").open("rb") as file:
        found = scan(file)
        assert (found.cut_off, found.damage) == (False, None)
        for part, (keys, vectors) in zip(found.blocks, (block(3, 0), block(1, 50)), strict=True):
            assert np.array_equal(part.keys, keys)
            assert np.array_equal(read_vectors(file, part), vectors)


def test_what_is_written_now_is_the_newest_version_kept() -> None:
    kept = max(DATA.glob("segment-*.vectors")).read_bytes()
    assert encode_block(*block(3, 0)) + encode_block(*block(1, 50)) == kept


@pytest.mark.parametrize("magic", [b"FRV2", b"FRV9"])
def test_a_file_of_a_later_version_stays_as_it_is(
    magic: bytes, cache_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = ["one", "two"]
    model = fe.resolve_model()
    cache = VectorCache(cache_root, model, model.passage)
    expected = fe.embed(texts)
    later = cache.folder / "0000000000000000-00000000.vectors"
    later.write_bytes(magic + b"whatever will stand there" * 9)
    for turn in range(12):  # enough files for a merge
        assert np.array_equal(fe.embed([*texts, f"text {turn}"])[:2], expected)
    assert later.read_bytes().startswith(magic)
    assert len(list(cache.folder.glob("*.vectors"))) < 12
    assert "damaged" not in capsys.readouterr().err
