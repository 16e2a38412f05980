"""A pass over a dataset takes little more memory than its blocks, whatever the format."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fastrecall.dataset import VectorDataset, VectorWriter

ROWS, DIM = 200_000, 384
BOUND = 110 << 20  # the vectors are 307 MB as float32

PASS = """
import sys, threading
from pathlib import Path
import numpy as np, pyarrow, pyarrow.dataset, pyarrow.parquet
from fastrecall.dataset import VectorDataset, VectorWriter

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM"))

before = peak()
exec(sys.argv[2])
print(peak() - before)
"""

READ = """
total = sum(float(block[:, 0].sum()) for _, block in VectorDataset(sys.argv[1]).blocks(4096))
"""
WRITE = f"""
with VectorWriter(sys.argv[1], dim={DIM}, storage="float16", rows_per_file=32768) as writer:
    for start in range(0, {ROWS}, 4096):
        writer.append(np.full((min(4096, {ROWS} - start), {DIM}), 0.5, np.float32))
"""
EMBED = """
from fastrecall.embedding.stream import embed_to_dataset
batches = ([f"issue {n} of {n % 7}" for n in range(at, at + 500)] for at in range(0, 60_000, 500))
embed_to_dataset(batches, sys.argv[1], model="fake", rows_per_file=2000)
"""

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="peak memory is read from /proc"
)


def grown(folder: Path, code: str) -> int:
    """Bytes by which the peak of a process grew."""
    command = [sys.executable, "-c", PASS, str(folder), code]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def blocks() -> list[np.ndarray]:
    vectors = np.random.default_rng(0).standard_normal((10_000, DIM)).astype(np.float32)
    return [vectors] * (ROWS // len(vectors))


@pytest.mark.slow
@pytest.mark.parametrize("storage", ["float32", "float16", "int8"])
def test_reading_a_dataset(tmp_path: Path, storage: str) -> None:
    with VectorWriter(tmp_path, dim=DIM, storage=storage, rows_per_file=150_000) as writer:
        for block in blocks():
            writer.append(block)
    assert grown(tmp_path, READ) < BOUND


@pytest.mark.slow
def test_reading_one_file_of_somebody_else(tmp_path: Path) -> None:
    kind = pa.list_(pa.float32(), DIM)
    schema = pa.schema([("vector", kind)])
    batches = [
        pa.record_batch([pa.FixedSizeListArray.from_arrays(block.reshape(-1), DIM)], schema=schema)
        for block in blocks()
    ]
    with pa.ipc.new_file(tmp_path / "v.arrow", schema) as out:
        for batch in batches:
            out.write_batch(batch)
    with pq.ParquetWriter(tmp_path / "v.parquet", schema, use_dictionary=False) as out:
        out.write_table(pa.Table.from_batches(batches), row_group_size=ROWS)
    np.save(tmp_path / "v.npy", np.concatenate(blocks()))
    for name in ("v.arrow", "v.parquet", "v.npy"):
        assert grown(tmp_path / name, READ) < BOUND, name


@pytest.mark.slow
def test_writing_a_dataset(tmp_path: Path) -> None:
    assert grown(tmp_path, WRITE) < BOUND


@pytest.mark.slow
def test_embedding_into_a_dataset(tmp_path: Path) -> None:
    # 92 MB of vectors in the end, 3 MB in a file.
    assert grown(tmp_path, EMBED) < 50 << 20
    assert len(VectorDataset(tmp_path)) == 60_000
