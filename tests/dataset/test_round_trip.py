"""What is written comes back: every storage, odd sizes, borders of files."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fastrecall.dataset import Storage, VectorDataset, VectorWriter
from fastrecall.dataset.storage import decode, encode
from fastrecall.errors import InputError

STORAGES: tuple[Storage, ...] = ("float32", "float16", "int8")


def some(rows: int, dim: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((rows, dim)).astype(np.float32)


def write(folder: Path, vectors: np.ndarray, *, block: int = 700, **options: object) -> Path:
    with VectorWriter(folder, dim=vectors.shape[1], **options) as writer:
        for start in range(0, len(vectors), block):
            writer.append(vectors[start : start + block])
    return folder


def kept(vectors: np.ndarray, storage: Storage) -> np.ndarray:
    """The numbers that a storage promises, by its definition and one row at a time."""
    if storage == "float32":
        return vectors
    if storage == "float16":
        return vectors.astype(np.float16).astype(np.float32)
    rows = []
    for row in vectors:
        scale = np.float32(np.abs(row).max() / np.float32(127))
        codes = np.rint(row / scale) if scale else np.zeros_like(row)
        rows.append(codes.astype(np.int8).astype(np.float32) * scale)
    return np.array(rows, dtype=np.float32).reshape(vectors.shape)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("rows", [0, 1, 999, 1000, 1001, 2500])
def test_what_is_written_comes_back(tmp_path: Path, storage: Storage, rows: int) -> None:
    vectors = some(rows, 20)
    dataset = VectorDataset(write(tmp_path / "v", vectors, storage=storage, rows_per_file=1000))
    assert (len(dataset), dataset.dim) == (rows, 20)
    expected = kept(vectors, storage)
    assert np.array_equal(dataset.read(0, rows), expected)
    assert dataset.read(0, rows).dtype == np.float32
    together = [block for _, block in dataset.blocks(333)]
    assert np.array_equal(np.concatenate([expected[:0], *together]), expected)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("dim", [1, 2, 3, 7, 31, 64, 127, 384, 1030])
def test_any_dimension(tmp_path: Path, storage: Storage, dim: int) -> None:
    vectors = some(37, dim)
    dataset = VectorDataset(write(tmp_path / "v", vectors, storage=storage, rows_per_file=16))
    assert np.array_equal(dataset.read(0, 37), kept(vectors, storage))


@pytest.mark.parametrize("storage", STORAGES)
def test_ranges_and_single_rows_cross_the_borders_of_files(
    tmp_path: Path, storage: Storage
) -> None:
    vectors = some(5000, 6)
    dataset = VectorDataset(write(tmp_path / "v", vectors, storage=storage, rows_per_file=1300))
    expected = kept(vectors, storage)
    dice = np.random.default_rng(1)
    for start, stop in np.sort(dice.integers(0, 5001, (60, 2)), axis=1).tolist():
        assert np.array_equal(dataset.read(start, stop), expected[start:stop])
    ids = dice.integers(0, 5000, 400)
    assert np.array_equal(dataset.take(ids), expected[ids])
    assert dataset.take([]).shape == (0, 6)


@pytest.mark.parametrize("name", ["über", "no unicode: \udce9"])
def test_what_the_writer_said_comes_back(tmp_path: Path, name: str) -> None:
    about = {"model": {"name": name, "files": [1, 2.5, None]}}
    dataset = VectorDataset(write(tmp_path / "v", some(3, 2), about=about))
    assert dataset.about == about


def test_blocks_begin_where_files_begin(tmp_path: Path) -> None:
    dataset = VectorDataset(write(tmp_path / "v", some(25, 3), rows_per_file=10))
    assert [(at, len(block)) for at, block in dataset.blocks(6)] == [
        (0, 6),
        (6, 4),
        (10, 6),
        (16, 4),
        (20, 5),
    ]


def test_float32_is_mapped_and_read_only(tmp_path: Path) -> None:
    dataset = VectorDataset(write(tmp_path / "v", some(10, 3)))
    block = dataset.read(2, 5)
    assert not block.flags.owndata
    assert not block.flags.writeable
    assert block.flags.c_contiguous


def test_arrays_outlive_the_dataset_and_reading_on(tmp_path: Path) -> None:
    vectors = some(40_000, 256)
    dataset = VectorDataset(write(tmp_path / "v", vectors, rows_per_file=10_000))
    first = dataset.read(0, 5000)
    for _ in dataset.blocks(1000):
        pass
    del dataset
    assert np.array_equal(first, vectors[:5000])


def test_the_size_of_the_blocks_leaves_no_trace(tmp_path: Path) -> None:
    vectors = some(2000, 5)
    for block in (1, 300, 2000):
        write(tmp_path / str(block), vectors, block=block, storage="int8", rows_per_file=512)
    files = {one.name: one.read_bytes() for one in (tmp_path / "1").iterdir()}
    for block in ("300", "2000"):
        assert {one.name: one.read_bytes() for one in (tmp_path / block).iterdir()} == files


def test_a_pickled_dataset_is_small_and_reads_on(tmp_path: Path) -> None:
    vectors = some(3000, 64)
    dataset = VectorDataset(write(tmp_path / "v", vectors, rows_per_file=1000))
    dataset.read(0, 10)
    frozen = pickle.dumps(dataset)
    assert len(frozen) < 2000
    assert np.array_equal(pickle.loads(frozen).read(500, 2500), vectors[500:2500])


def test_many_threads_may_read_one_dataset(tmp_path: Path) -> None:
    vectors = some(6000, 16)
    dataset = VectorDataset(write(tmp_path / "v", vectors, storage="float32", rows_per_file=500))

    def read(seed: int) -> bool:
        spans = np.sort(np.random.default_rng(seed).integers(0, 6001, (80, 2)), axis=1)
        return all(np.array_equal(dataset.read(a, b), vectors[a:b]) for a, b in spans.tolist())

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(read, range(16)))


def test_a_writer_takes_read_only_and_strided_arrays(tmp_path: Path) -> None:
    vectors = np.asfortranarray(some(64, 8).astype(np.float64))
    vectors.flags.writeable = False
    with VectorWriter(tmp_path / "v", dim=8) as writer:
        writer.append(vectors[::2])
    expected = vectors[::2].astype(np.float32)
    assert np.array_equal(VectorDataset(tmp_path / "v").read(0, 32), expected)


FINITE = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(hnp.arrays(np.float32, st.tuples(st.integers(1, 5), st.integers(1, 9)), elements=FINITE))
def test_int8_keeps_to_its_bound(vectors: np.ndarray) -> None:
    codes, scales = encode(vectors, "int8")
    assert scales is not None
    restored = decode(codes, scales)
    assert np.isfinite(restored).all()
    largest = np.abs(vectors.astype(np.float64)).max(axis=1, keepdims=True)
    error = np.abs(restored.astype(np.float64) - vectors)
    # Below 1e-36 a scale is a coarse number itself; nothing there matters beside its size.
    assert (error <= largest / 253 + 127 * 2.0**-149).all()


@given(st.floats(2**-14, 65504, width=32))
def test_float16_keeps_eleven_bits(value: float) -> None:
    values, _ = encode(np.array([[value, -value]], dtype=np.float32), "float16")
    assert abs(decode(values)[0, 0] - value) <= value * 2.0**-11


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (np.zeros((2, 4), np.float32), r"float32 of shape \[2, 4\]; expected float32 \[n, 3\]"),
        (np.zeros(3, np.float32), r"shape \[3\]"),
        (np.array([["a", "b", "c"]]), "expected float32"),
        (np.array([[0, 0, 0], [0, np.nan, 0]], np.float32), "row 6 holds NaN or infinity"),
        (np.array([[0, 1e39, 0]]), "row 5 holds NaN or infinity"),
    ],
)
def test_what_is_no_vector_is_refused(tmp_path: Path, vectors: np.ndarray, message: str) -> None:
    with VectorWriter(tmp_path / "v", dim=3) as writer:
        writer.append(some(5, 3))
        with pytest.raises(InputError, match=message):
            writer.append(vectors)
    assert len(VectorDataset(tmp_path / "v")) == 5


def test_half_precision_refuses_what_it_cannot_hold(tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match="row 4 holds a value beyond 65504"),
        VectorWriter(tmp_path / "v", dim=1, storage="float16") as writer,
    ):
        writer.append(np.array([[65_504.0], [-65_504.0]], np.float32))
        writer.append(np.array([[1.0], [2.0], [-70_000.0], [70_000.0]], np.float32))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dim": 0}, "dim is 0"),
        ({"dim": 2, "rows_per_file": 0}, "rows_per_file is 0"),
        ({"dim": 2, "storage": "int4"}, "storage is 'int4'; expected one of float32, float16"),
        ({"dim": 2, "about": {"when": object()}}, "about cannot be written as JSON"),
        ({"dim": 2, "about": {1: 2, "a": 3}}, "about cannot be written as JSON"),
    ],
)
def test_options_out_of_range_are_refused(
    tmp_path: Path, options: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        VectorWriter(tmp_path / "v", **options)
    assert not (tmp_path / "v").exists()


@pytest.mark.parametrize(("start", "stop"), [(-1, 2), (3, 2), (0, 6)])
def test_rows_out_of_range_are_refused(tmp_path: Path, start: int, stop: int) -> None:
    dataset = VectorDataset(write(tmp_path / "v", some(5, 2)))
    with pytest.raises(InputError, match="dataset of 5; out of range"):
        dataset.read(start, stop)
    with pytest.raises(InputError, match="out of range"):
        dataset.take([0, 5])


@pytest.mark.parametrize("ids", [[True, False], [0.5], ["a"], [None]], ids=str)
def test_what_is_no_number_of_a_row_is_refused(tmp_path: Path, ids: list[object]) -> None:
    dataset = VectorDataset(write(tmp_path / "v", some(5, 2)))
    with pytest.raises(InputError, match="expected the numbers of rows"):
        dataset.take(ids)
