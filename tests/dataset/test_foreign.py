"""Files that others wrote: Arrow, Parquet and .npy, in every layout that holds vectors."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from fastrecall.dataset import VectorDataset, VectorWriter
from fastrecall.errors import CacheError, InputError

VECTORS = np.random.default_rng(3).standard_normal((10_000, 12)).astype(np.float32)


def fixed(vectors: np.ndarray) -> pa.Array:
    flat = pa.array(np.ascontiguousarray(vectors).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])


def lists(vectors: np.ndarray, kind: type[pa.Array] = pa.ListArray) -> pa.Array:
    offsets = np.arange(0, vectors.size + 1, vectors.shape[1])
    return kind.from_arrays(offsets, pa.array(vectors.reshape(-1)))


def table(column: pa.Array, name: str = "vector") -> pa.Table:
    return pa.table({"id": np.arange(len(column)), name: column})


def arrow(
    path: Path, column: pa.Array, *, rows: int = 3000, compression: str | None = None
) -> Path:
    options = pa.ipc.IpcWriteOptions(compression=compression)
    whole = table(column)
    with pa.ipc.new_file(path, whole.schema, options=options) as out:
        out.write_table(whole, max_chunksize=rows)
    return path


def parquet(path: Path, column: pa.Array, *, rows: int = 3000) -> Path:
    pq.write_table(table(column), path, row_group_size=rows)
    return path


def npy(path: Path, vectors: np.ndarray) -> Path:
    np.save(path, vectors)
    return path


def ways(folder: Path) -> dict[str, Path]:
    feather = folder / "f.feather"
    pyarrow.feather.write_feather(table(fixed(VECTORS)), feather)
    large = lists(VECTORS, pa.LargeListArray)
    return {
        "arrow": arrow(folder / "a.arrow", fixed(VECTORS)),
        "arrow, zstd": arrow(folder / "b.arrow", fixed(VECTORS), compression="zstd"),
        "arrow, lists": arrow(folder / "c.ipc", lists(VECTORS)),
        "arrow, large lists": arrow(folder / "d.ARROW", large),
        "feather": feather,
        "parquet": parquet(folder / "g.parquet", fixed(VECTORS)),
        "parquet, one row group": parquet(folder / "h.parquet", fixed(VECTORS), rows=1 << 20),
        "parquet, tiny row groups": parquet(folder / "i.parquet", fixed(VECTORS), rows=7),
        "parquet, lists": parquet(folder / "j.parquet", lists(VECTORS)),
        "npy": npy(folder / "k.npy", VECTORS),
        "npy, by columns": npy(folder / "l.npy", np.asfortranarray(VECTORS)),
        "npy, big-endian": npy(folder / "m.npy", VECTORS.astype(">f4")),
    }


def test_every_format_gives_the_same_rows(tmp_path: Path) -> None:
    dice = np.random.default_rng(0)
    spans = np.sort(dice.integers(0, len(VECTORS) + 1, (25, 2)), axis=1).tolist()
    ids = dice.integers(0, len(VECTORS), 50)
    for name, path in ways(tmp_path).items():
        dataset = VectorDataset(path)
        assert (len(dataset), dataset.dim) == VECTORS.shape, name
        for start, stop in [(0, len(VECTORS)), *spans]:
            assert np.array_equal(dataset.read(start, stop), VECTORS[start:stop]), name
        assert np.array_equal(dataset.take(ids), VECTORS[ids]), name
        assert np.array_equal(np.concatenate([b for _, b in dataset.blocks(999)]), VECTORS), name
        dataset.verify()


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8"])
def test_other_numbers_become_float32(tmp_path: Path, dtype: str) -> None:
    vectors = (VECTORS[:500] * 20).astype(dtype)
    for path in (
        arrow(tmp_path / "v.arrow", fixed(vectors)),
        parquet(tmp_path / "v.parquet", lists(vectors)),
        npy(tmp_path / "v.npy", vectors),
    ):
        block = VectorDataset(path).read(100, 500)
        assert block.dtype == np.float32
        assert np.array_equal(block, vectors[100:].astype(np.float32))


@pytest.mark.parametrize("write", [arrow, npy])
def test_mapped_float32_is_not_copied(tmp_path: Path, write: Callable[..., Path]) -> None:
    vectors = VECTORS[:100]
    path = write(tmp_path / f"v.{write.__name__}", vectors if write is npy else fixed(vectors))
    block = VectorDataset(path).read(5, 50)
    assert not block.flags.owndata
    assert not block.flags.writeable


def test_folders_patterns_and_lists_of_mixed_files(tmp_path: Path) -> None:
    parts = np.split(VECTORS, [100, 4000, 4000, 9000])
    npy(tmp_path / "part-2.npy", parts[0])
    arrow(tmp_path / "part-10.arrow", fixed(parts[1]))
    npy(tmp_path / "part-11.npy", parts[2])  # no rows
    parquet(tmp_path / "part-12.parquet", lists(parts[3]))
    arrow(tmp_path / "part-100.arrow", lists(parts[4]), compression="lz4")
    (tmp_path / "README.md").write_text("not vectors")
    (tmp_path / "_metadata.parquet").write_text("not vectors")
    for source in (tmp_path, str(tmp_path / "part-*")):
        dataset = VectorDataset(source)
        assert np.array_equal(dataset.read(0, len(VECTORS)), VECTORS)
        assert np.array_equal(dataset.read(90, 9005), VECTORS[90:9005])
    backwards = [tmp_path / "part-10.arrow", tmp_path / "part-2.npy"]
    assert np.array_equal(
        VectorDataset(backwards).read(0, 4000), np.concatenate([parts[1], parts[0]])
    )


def test_a_manifest_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    npy(tmp_path / "v.npy", VECTORS)
    (tmp_path / "manifest.json").write_text('{"format": "other"}')
    assert len(VectorDataset(tmp_path)) == len(VECTORS)
    with pytest.raises(CacheError, match="is not of a vector dataset; choose another folder"):
        VectorWriter(tmp_path, dim=12)


def test_another_column(tmp_path: Path) -> None:
    path = tmp_path / "v.parquet"
    pq.write_table(table(fixed(VECTORS), "embedding"), path)
    assert np.array_equal(VectorDataset(path, column="embedding").read(7, 9), VECTORS[7:9])
    with pytest.raises(InputError, match=r"has no column 'vector'; its columns are 'id', 'emb"):
        VectorDataset(path)


def test_mixed_dimensions_name_file_and_column(tmp_path: Path) -> None:
    npy(tmp_path / "a.npy", VECTORS)
    parquet(tmp_path / "b.parquet", fixed(VECTORS[:, :7]))
    with pytest.raises(InputError, match=r"b\.parquet, column 'vector': vectors of 7 .*a\.npy"):
        VectorDataset(tmp_path)


def ragged(lengths: list[int]) -> pa.Array:
    return pa.array([[1.0] * length for length in lengths], pa.list_(pa.float32()))


@pytest.mark.parametrize("write", [arrow, parquet])
def test_lists_of_different_lengths_name_the_row(
    tmp_path: Path, write: Callable[..., Path]
) -> None:
    path = write(tmp_path / f"v.{write.__name__}", ragged([3, 3, 3, 4, 3]), rows=2)
    with pytest.raises(InputError, match=r"column 'vector', row 3: a vector of 4 numbers"):
        VectorDataset(path).read(0, 5)


@pytest.mark.parametrize("write", [arrow, parquet])
def test_missing_vectors_and_numbers_name_the_row(
    tmp_path: Path, write: Callable[..., Path]
) -> None:
    path = tmp_path / f"v.{write.__name__}"
    for kind in (pa.list_(pa.float32()), pa.list_(pa.float32(), 2)):
        write(path, pa.array([[1, 2], None, [3, 4]], kind))
        # pyarrow 25 reads no missing list of a fixed size from Parquet, and says so.
        with pytest.raises(InputError, match=r"row 1: no vector|all lists to be of size=2 but"):
            VectorDataset(path).read(0, 3)
        write(path, pa.array([[1, 2], [1, 2], [3, None]], kind))
        with pytest.raises(InputError, match="row 2: a number is missing"):
            VectorDataset(path).read(0, 3)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_names_file_and_row(tmp_path: Path, value: float) -> None:
    vectors = VECTORS.copy()
    vectors[6123, 5] = value
    for path in (
        arrow(tmp_path / "v.arrow", fixed(vectors)),
        parquet(tmp_path / "v.parquet", fixed(vectors)),
        npy(tmp_path / "v.npy", vectors),
    ):
        dataset = VectorDataset(path)
        dataset.read(0, 6123)
        wanted = rf"{re.escape(str(path))}, row 6123: the vector holds NaN or infinity"
        for read in (
            lambda dataset=dataset: dataset.read(6100, 6200),
            lambda dataset=dataset: dataset.take([6123]),
            dataset.verify,
        ):
            with pytest.raises(InputError, match=wanted):
                read()


def test_numbers_beyond_float32_are_refused_and_large_ones_are_not(tmp_path: Path) -> None:
    largest = np.full((4, 3), np.finfo(np.float32).max, dtype=np.float64)
    path = npy(tmp_path / "v.npy", largest)
    assert np.array_equal(VectorDataset(path).read(0, 4), largest.astype(np.float32))
    npy(path, largest * 2)
    with pytest.raises(InputError, match="row 0: the vector holds NaN or infinity"):
        VectorDataset(path).read(0, 4)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array([1.0, 2.0]), "of type double; expected a list"),
        (pa.array([[1, 2]], pa.list_(pa.int64())), "of type list<.*int64>; expected a list"),
        (pa.array([["a"]]), "expected a list or fixed-size list of float32"),
    ],
)
@pytest.mark.parametrize("write", [arrow, parquet])
def test_columns_that_hold_no_vectors(
    tmp_path: Path, write: Callable[..., Path], column: pa.Array, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        VectorDataset(write(tmp_path / f"v.{write.__name__}", column))


@pytest.mark.parametrize(
    "array",
    [np.zeros(3, np.float32), np.zeros((2, 2, 2)), np.zeros((2, 2), np.int64), np.array([["a"]])],
)
def test_arrays_that_hold_no_vectors(tmp_path: Path, array: np.ndarray) -> None:
    with pytest.raises(InputError, match=r"expected an array \[n, dim\] of float32"):
        VectorDataset(npy(tmp_path / "v.npy", array))


def test_objects_are_never_unpickled(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="holds object"):
        VectorDataset(tmp_path / "v.npy")


@pytest.mark.parametrize("suffix", ["arrow", "feather", "parquet", "npy"])
@pytest.mark.parametrize("content", [b"", b"ARROW1", b"PAR1", b"\x93NUMPY\x01\x00", b"x" * 999])
def test_what_is_no_such_file(tmp_path: Path, suffix: str, content: bytes) -> None:
    path = tmp_path / f"v.{suffix}"
    path.write_bytes(content)
    with pytest.raises(InputError, match=rf"v\.{suffix} cannot be read as \.{suffix}"):
        VectorDataset(path)


@pytest.mark.parametrize("name", ["v.arrow", "v.parquet", "v.npy"])
def test_files_that_are_cut_off(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    {"v.arrow": arrow, "v.parquet": parquet}.get(name, lambda p, _: npy(p, VECTORS))(
        path, fixed(VECTORS)
    )
    whole = path.read_bytes()
    for length in np.linspace(0, len(whole) - 1, 40).astype(int):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError, match=re.escape(name)):
            VectorDataset(path)


def test_files_that_change_after_opening_are_refused(tmp_path: Path) -> None:
    path = npy(tmp_path / "v.npy", VECTORS)
    dataset = VectorDataset(path)
    for other in (VECTORS[:50], VECTORS[:, :7]):
        npy(path, other)
        with pytest.raises(InputError, match="has changed since it was opened"):
            dataset.read(0, 10)


def test_places_without_vectors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist; expected a folder or file"):
        VectorDataset(tmp_path / "nowhere")
    with pytest.raises(InputError, match="no home folder is known"):
        VectorDataset("~no such user/vectors")
    with pytest.raises(InputError, match=r"xxx cannot be read: .*too long; expected a folder"):
        VectorDataset("x" * 999)
    for source in (str(tmp_path), f"{tmp_path}/*.npy"):
        with pytest.raises(InputError, match=f"no files of vectors in {re.escape(source)}; exp"):
            VectorDataset(source)
    with pytest.raises(InputError, match="no vectors in no files"):
        VectorDataset([])
    (tmp_path / "v.txt").write_text("1 2 3")
    with pytest.raises(InputError, match=r"v\.txt is no file of vectors; expected \.arrow"):
        VectorDataset(tmp_path / "v.txt")
    with pytest.raises(InputError, match="does not exist"):
        VectorDataset([tmp_path / "gone.npy"])
    with pytest.raises(InputError, match="no vectors in"):
        VectorDataset(arrow(tmp_path / "empty.arrow", ragged([])))
