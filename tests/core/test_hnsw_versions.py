"""HNSW files of every version there ever was stay readable; those of later ones are refused."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest

from fastrecall import HNSW
from fastrecall.errors import InputError

DATA = Path(__file__).parent / "data"
FILES = sorted(DATA.glob("hnsw-*.hnsw"))
STORAGES = ["int8", "float16", "float32"]
_VERSION_AT = 8


def version_of(file: Path) -> int:
    (version,) = struct.unpack_from("<I", file.read_bytes(), _VERSION_AT)
    return version


def write_files() -> None:
    """The files of the current version, for whoever raised it: call this once, and commit."""
    random = np.random.default_rng(1)
    vectors = random.standard_normal((60, 5)).astype(np.float32)
    queries = random.standard_normal((4, 5)).astype(np.float32)
    for storage in STORAGES:
        index = HNSW(5, m=3, ef_construction=20, storage=storage, seed=7, threads=1)
        index.add(vectors[:50])
        index.add(vectors[50:], ids=np.arange(90, 80, -1))
        index.delete([3, 84])
        index.save(DATA / "new")
        name = f"hnsw-{version_of(DATA / 'new')}-{storage}"
        (DATA / "new").rename(DATA / f"{name}.hnsw")
        ids, scores = index.search(queries, 6, ef=30)
        answer = {
            "queries": queries.tolist(),
            "ids": ids.tolist(),
            "scores": scores.tolist(),
            "size": len(index),
        }
        (DATA / f"{name}.json").write_text(json.dumps(answer) + "\n")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
@pytest.mark.parametrize("mmap", [True, False])
def test_a_file_of_each_version_answers_as_it_did(file: Path, mmap: bool, tmp_path: Path) -> None:
    expected = json.loads(file.with_suffix(".json").read_text())
    queries = np.array(expected["queries"], np.float32)
    index = HNSW.load(file, mmap=mmap)
    for _ in range(2):
        ids, scores = index.search(queries, 6, ef=30)
        assert ids.tolist() == expected["ids"]
        assert scores.tolist() == expected["scores"]
        assert (len(index), index.deleted) == (expected["size"], 2)
        assert (index.dim, index.m, index.ef_construction, index.seed) == (5, 3, 20, 7)
        index.save(tmp_path / "again.hnsw")
        index = HNSW.load(tmp_path / "again.hnsw")
    index.add(queries)
    assert index.ids[-4:].tolist() == [91, 92, 93, 94]
    assert index.search(queries, 1, ef=60)[0].ravel().tolist() == [91, 92, 93, 94]


@pytest.mark.parametrize("storage", STORAGES)
def test_files_of_the_current_version_are_kept(storage: str, tmp_path: Path) -> None:
    HNSW(5).save(tmp_path / "now.hnsw")
    current = version_of(tmp_path / "now.hnsw")
    for version in range(1, current + 1):
        assert DATA / f"hnsw-{version}-{storage}.hnsw" in FILES, "call write_files and commit"


def test_a_version_of_the_future_is_refused(tmp_path: Path) -> None:
    for version in (2, 7, 2**32 - 1):
        data = bytearray(FILES[-1].read_bytes())
        struct.pack_into("<I", data, _VERSION_AT, version)
        (tmp_path / "later.hnsw").write_bytes(data)
        with pytest.raises(
            InputError,
            match=rf"later\.hnsw has format version {version}, of a newer fastrecall; this one "
            r"reads versions up to 1: upgrade it, or build the index again$",
        ):
            HNSW.load(tmp_path / "later.hnsw")
