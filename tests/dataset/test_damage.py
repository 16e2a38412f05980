"""A dataset that is not what was written says so; no number comes back changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fastrecall.dataset import Storage, VectorDataset, VectorWriter, own
from fastrecall.dataset.manifest import MANIFEST
from fastrecall.dataset.own import CHUNK_ROWS
from fastrecall.dataset.storage import encode
from fastrecall.errors import CacheError

VECTORS = np.random.default_rng(5).standard_normal((3500, 4)).astype(np.float32)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return written(tmp_path / "v", "float32")


def written(folder: Path, storage: Storage) -> Path:
    with VectorWriter(folder, dim=4, storage=storage, rows_per_file=3000) as writer:
        writer.append(VECTORS)
    return folder


def file(folder: Path, number: int = 0) -> Path:
    return folder / f"vectors-{number:06d}.arrow"


def test_a_missing_file(folder: Path) -> None:
    file(folder, 1).unlink()
    with pytest.raises(CacheError, match=r"vectors-000001\.arrow .* is damaged: it is missing"):
        VectorDataset(folder)


def test_a_file_that_vanishes_after_opening(folder: Path) -> None:
    dataset = VectorDataset(folder)
    file(folder, 1).unlink()
    dataset.read(0, 3000)
    with pytest.raises(CacheError, match="it is missing"):
        dataset.read(0, 3001)


def test_a_file_of_another_length(folder: Path) -> None:
    whole = file(folder).read_bytes()
    for content in (whole[:-1], whole + b"\0", b""):
        file(folder).write_bytes(content)
        with pytest.raises(CacheError, match=rf"it has {len(content)} bytes, expected"):
            VectorDataset(folder)


def test_a_flipped_byte_is_found_when_its_chunk_is_read(folder: Path) -> None:
    content = bytearray(file(folder).read_bytes())
    at = content.index(VECTORS[CHUNK_ROWS + 5].tobytes())
    content[at] ^= 1
    file(folder).write_bytes(content)
    dataset = VectorDataset(folder)
    assert np.array_equal(dataset.read(0, CHUNK_ROWS), VECTORS[:CHUNK_ROWS])
    wanted = f"rows {CHUNK_ROWS} to {2 * CHUNK_ROWS - 1} do not fit their checksum"
    for read in (
        lambda: dataset.read(CHUNK_ROWS - 1, CHUNK_ROWS + 1),
        lambda: dataset.take([CHUNK_ROWS + 9]),
        lambda: dataset.read(0, 3500),  # and again: a failed check is not remembered as passed
        dataset.verify,
    ):
        with pytest.raises(CacheError, match=wanted):
            read()


def test_a_byte_that_flips_after_it_was_read_is_found_by_verify(folder: Path) -> None:
    dataset = VectorDataset(folder)
    dataset.read(0, 3500)
    dataset.verify()
    content = bytearray(file(folder).read_bytes())
    content[content.index(VECTORS[7].tobytes())] ^= 1
    file(folder).write_bytes(content)
    with pytest.raises(CacheError, match="rows 0 to 1023 do not fit their checksum"):
        dataset.verify()


@pytest.mark.parametrize("storage", ["float32", "float16", "int8"])
def test_no_flipped_bit_changes_a_number(tmp_path: Path, storage: Storage) -> None:
    with VectorWriter(tmp_path / "v", dim=3, storage=storage) as writer:
        writer.append(VECTORS[:8, :3])
    expected = VectorDataset(tmp_path / "v").read(0, 8)
    found = 0
    for path in (file(tmp_path / "v"), tmp_path / "v" / MANIFEST):
        whole = path.read_bytes()
        for at in range(len(whole)):
            flipped = bytes([whole[at] ^ (1 << at % 8)])
            path.write_bytes(whole[:at] + flipped + whole[at + 1 :])
            try:
                dataset = VectorDataset(tmp_path / "v")
                assert np.array_equal(dataset.read(0, len(dataset)), expected)
            except CacheError:
                found += 1
        path.write_bytes(whole)
    assert found > 500


def test_files_that_change_places(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "w"
    with VectorWriter(other, dim=4, rows_per_file=3000) as writer:
        writer.append(VECTORS[::-1])
    file(folder).write_bytes(file(other).read_bytes())
    with pytest.raises(CacheError, match="is not the file that the manifest speaks of"):
        VectorDataset(folder).read(0, 1)


def newer(document: dict[str, object]) -> None:
    document["version"] = 2


def no_format(document: dict[str, object]) -> None:
    del document["format"]


def more_rows(document: dict[str, object]) -> None:
    document["rows"] = 10


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (newer, "is of version 2, this fastrecall reads up to 1; update fastrecall"),
        (no_format, "the beginning of a vector dataset and no manifest"),
        (more_rows, "its checksum does not fit"),
    ],
)
def test_a_manifest_that_does_not_count(
    folder: Path, change: Callable[[dict[str, object]], None], message: str
) -> None:
    path = folder / MANIFEST
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    with pytest.raises(CacheError, match=message):
        VectorDataset(folder)


def test_a_file_of_a_newer_version(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as later:
        later.setattr(own, "VERSION", 2)
        written(folder.parent / "w", "int8")
    with pytest.raises(CacheError, match="is of version 2, this fastrecall reads up to 1"):
        VectorDataset(folder.parent / "w").read(0, 1)
    (folder.parent / "w" / MANIFEST).unlink()
    with pytest.raises(CacheError, match="is of version 2"):
        VectorWriter(folder.parent / "w", dim=4, storage="int8", rows_per_file=3000)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe"])
def test_a_manifest_that_is_none(folder: Path, content: bytes) -> None:
    (folder / MANIFEST).write_bytes(content)
    with pytest.raises(CacheError, match=r"manifest\.json is damaged"):
        VectorDataset(folder)


def test_a_dataset_without_a_manifest_is_not_finished(folder: Path) -> None:
    (folder / MANIFEST).unlink()
    with pytest.raises(CacheError, match="the beginning of a vector dataset and no manifest"):
        VectorDataset(folder)


@pytest.mark.parametrize("name", ["vectors-000001.arrow", "renamed.feather"])
def test_one_file_alone_is_decoded_and_checked(tmp_path: Path, name: str) -> None:
    folder = written(tmp_path / "v", "int8")
    expected = VectorDataset(folder).read(3000, 3500)
    path = file(folder, 1).rename(folder / name)
    assert np.array_equal(VectorDataset(path).read(0, 500), expected)
    content = bytearray(path.read_bytes())
    content[content.index(encode(VECTORS[3000:], "int8")[0].tobytes())] ^= 4
    path.write_bytes(content)
    with pytest.raises(CacheError, match="checksum"):
        VectorDataset(path).read(0, 500)
