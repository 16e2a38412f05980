"""Files of vectors. The first line says what an input is: ``npy``, ``arrow``, ``parquet`` (a file
that others wrote), ``own`` (changes of one of our files as (offset, byte) in 3 bytes each) or
``manifest`` (keys of a dataset's manifest, whose digest is made to fit).
"""

from __future__ import annotations

import json
import shutil
from functools import cache
from pathlib import Path

import numpy as np
from tests.fuzz.common import (
    empty_folder,
    expected_errors,
    must_hold,
    scratch_file,
    scratch_folder,
)
from tests.fuzz.mutate import json_text

from fastrecall._checked import digest_of
from fastrecall.dataset import VectorDataset, VectorWriter
from fastrecall.dataset.manifest import MANIFEST
from fastrecall.dataset.own import file_name

VECTORS = np.arange(12, dtype=np.float32).reshape(4, 3) + 1


def mutate(data, seed, mutate_bytes, max_size):
    kind, _, rest = data.partition(b"\n")
    if kind == b"manifest" and seed % 4:
        return kind + b"\n" + json_text(rest, seed, mutate_bytes, max_size - 10)
    return kind + b"\n" + mutate_bytes(rest, max(1, max_size - 10))


@cache
def whole() -> Path:
    folder = scratch_folder() / "vectors"
    with VectorWriter(folder, dim=3, storage="int8") as writer:
        writer.append(VECTORS)
        writer.finish()
    return folder


def read(source: Path) -> None:
    dataset = VectorDataset(source)
    some = min(len(dataset), 8)
    found = dataset.read(0, some)
    must_hold(found.shape == (some, dataset.dim) and found.dtype == np.float32, "shape")
    must_hold(np.isfinite(found).all(), "a number that is not finite")


def run(data: bytes) -> None:
    kind, _, rest = data.partition(b"\n")
    if kind in (b"npy", b"arrow", b"parquet"):
        with expected_errors():
            read(scratch_file(f"vectors.{kind.decode()}", rest))
        return
    folder = empty_folder("dataset")
    shutil.copytree(whole(), folder, dirs_exist_ok=True)
    if kind == b"own":
        path = folder / file_name(0)
        new = bytearray(path.read_bytes())
        for at in range(0, len(rest) - 2, 3):
            new[int.from_bytes(rest[at : at + 2], "little") % len(new)] = rest[at + 2]
        path.write_bytes(new)
    else:
        try:
            given = json.loads(rest)
        except (ValueError, RecursionError):
            return
        if not isinstance(given, dict):
            return
        document = json.loads((folder / MANIFEST).read_bytes()) | given
        document.pop("sha256", None)
        (folder / MANIFEST).write_text(json.dumps({"sha256": digest_of(document), **document}))
    with expected_errors():
        read(folder)
        dataset = VectorDataset(folder)
        dataset.verify()
        if kind == b"own":
            near = np.abs(dataset.read(0, 4) - VECTORS) <= np.abs(VECTORS).max() / 50
            must_hold(near.all(), "other vectors than were written")
    if kind == b"own":
        with expected_errors():
            # As what a stopped run has left: a file that can be read is kept, another written anew.
            (folder / MANIFEST).unlink()
            with VectorWriter(folder, dim=3, storage="int8", rows_per_file=4) as writer:
                must_hold(writer.rows in (0, 4), "a part of a file was kept")
                if not writer.rows:
                    writer.append(VECTORS)
            must_hold(len(VectorDataset(folder)) == 4, "another number of rows")
