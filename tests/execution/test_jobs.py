"""Exact search and the neighbour graph on a cluster: the bits of one machine, whatever is lost."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.children import environment
from tests.execution import hosts, job

pytestmark = pytest.mark.slow

VECTORS, DIM = 20_000, 384
JOB = str(Path(job.__file__))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Vectors, duplicates among them, and what one process finds in them."""
    folder = tmp_path_factory.mktemp("shared")
    vectors = np.random.default_rng(0).standard_normal((VECTORS, DIM), dtype=np.float32)
    vectors[1::50] = vectors[::50]
    np.save(folder / "vectors.npy", vectors)
    subprocess.run([sys.executable, JOB, "local", "", str(folder)], check=True, env=environment())
    return folder


@pytest.fixture(autouse=True)
def nothing_found_yet(folder: Path) -> Iterator[None]:
    yield
    for file in [folder / "ray.npz", *folder.glob("graph-ray/*")]:
        file.unlink(missing_ok=True)


def same(folder: Path) -> None:
    with np.load(folder / "local.npz") as local, np.load(folder / "ray.npz") as far:
        assert set(local) == set(far)
        for name in local:
            assert local[name].dtype == far[name].dtype
            assert local[name].tobytes() == far[name].tobytes(), name


def parts(folder: Path) -> list[Path]:
    return sorted(folder.glob("graph-ray/neighbours-*"))


def wait_for_parts(folder: Path, count: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 120
    while len(parts(folder)) < count:
        assert process.poll() is None, process.communicate()[1].decode()
        assert time.monotonic() < deadline, f"only {len(parts(folder))} parts"
        time.sleep(0.05)


def finished(process: subprocess.Popen[bytes]) -> dict[str, float]:
    """What the job printed: one line of JSON, and nothing of Ray's."""
    output, talk = process.communicate(timeout=480)
    assert process.returncode == 0, talk.decode()
    told: dict[str, float] = json.loads(output)
    return told


def test_a_lost_host_changes_no_bit_and_no_vector_passes_the_driver(folder: Path) -> None:
    pytest.importorskip("ray", reason="the extra `ray` is not installed")
    if not hosts.possible():
        pytest.skip("network namespaces need root and the command ip")
    with hosts.Hosts(workers=2) as cluster:
        before = cluster.bytes_through(0)
        process = cluster.popen(0, sys.executable, JOB, "ray", cluster.address, str(folder))
        wait_for_parts(folder, 3, process)
        cluster.lose(2)
        assert len(parts(folder)) < VECTORS // 2000, "too late: nothing was left to lose"
        told = finished(process)
        passed = cluster.bytes_through(0) - before
    same(folder)
    size = (folder / "vectors.npy").stat().st_size
    assert passed < size / 2, "vectors went through the driver's network card"
    assert told["grown"] < 60, told


def test_an_interrupted_job_goes_on_where_it_was(cluster: Any, folder: Path) -> None:
    start = [sys.executable, JOB, "ray", cluster.address, str(folder)]

    def begin() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            start, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
        )

    process = begin()
    wait_for_parts(folder, 2, process)
    process.send_signal(signal.SIGINT)
    output, talk = process.communicate(timeout=60)
    assert output == b""
    assert b"KeyboardInterrupt" in talk
    kept = {part: part.stat().st_mtime_ns for part in parts(folder)}
    assert 2 <= len(kept) < VECTORS // 2000

    finished(begin())
    same(folder)
    now = {part: part.stat().st_mtime_ns for part in parts(folder)}
    assert len(now) == VECTORS // 2000
    assert kept.items() <= now.items()  # not made again
