"""Search block by block against the index that holds everything, bit by bit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.children import environment
from tests.oracles import topk as oracle

from fastrecall import ExactIndex
from fastrecall.dataset import VectorDataset
from fastrecall.errors import InputError
from fastrecall.execution import LocalExecutor
from fastrecall.search.blocks import ArraySource, BlockedIndex, exact, room


@pytest.fixture
def cut(monkeypatch):
    """Makes blocks and tasks of so many vectors."""

    def into(block, task=10**9):
        monkeypatch.setattr(room.Room, "rows_of_block", lambda *_: max(1, block))
        monkeypatch.setattr(exact, "ROWS_OF_TASK", max(1, task))

    return into


def normal(n, dim, seed=0):
    return np.random.default_rng(seed).standard_normal((n, dim)).astype(np.float32)


def awkward(n, dim):
    """With twins far apart, zero vectors and opposite ones."""
    vectors = normal(n, dim, 1)
    if n > 5:
        vectors[n // 2 :: 3] = vectors[0]
        vectors[1::5] = 0
        vectors[n - 1] = -vectors[0]
    return vectors


def blocked(vectors, **options):
    return BlockedIndex(ArraySource(vectors), **{"memory": "64MB", **options})


def assert_equal(got, expected):
    np.testing.assert_array_equal(got[0], expected[0])
    np.testing.assert_array_equal(got[1].view(np.uint32), expected[1].view(np.uint32))


@pytest.mark.parametrize("n", [0, 1, 2, 7, 60])
@pytest.mark.parametrize("block", ["1", "7", "n - 1", "n", "n + 1"])
@pytest.mark.parametrize("k", [1, 5, 100])
def test_every_size_of_block_gives_the_answer_of_one_index(cut, n, block, k):
    cut({"1": 1, "7": 7, "n - 1": n - 1, "n": n, "n + 1": n + 1}[block])
    vectors, queries = awkward(n, 20), np.vstack([normal(3, 20, 2), np.zeros((1, 20), np.float32)])
    got = blocked(vectors).search(queries, k)
    assert_equal(got, ExactIndex(vectors).search(queries, k))
    assert_equal(got, oracle.search(vectors, queries, k))


@pytest.mark.parametrize("task", [1, 13, 50])
def test_ties_across_blocks_and_tasks_go_to_the_lower_id(cut, task):
    cut(4, task)
    vectors = np.ones((50, 8), np.float32)
    ids, scores = blocked(vectors).search(vectors[:2], 11)
    np.testing.assert_array_equal(ids, np.tile(np.arange(11), (2, 1)))
    assert len(np.unique(scores)) == 1


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("count", [1, 9, 70, room.MANY_QUERIES + 3])
def test_threads_and_number_of_queries_change_nothing(cut, threads, count):
    cut(130, 300)
    vectors, queries = awkward(900, 33), normal(count, 33, 3)
    got = blocked(vectors, threads=threads).search(queries, 10)
    assert_equal(got, ExactIndex(vectors).search(queries, 10))


@pytest.mark.parametrize("rows", [1, 5])
def test_masks_and_excluded_ids(cut, rows):
    cut(11, 40)
    vectors, queries = awkward(101, 12), normal(5, 12, 4)
    random = np.random.default_rng(5)
    mask = random.random((rows, 101)) < 0.5
    whole = ExactIndex(vectors)
    for exclude in (
        [3, -1, 100, 50, 0],
        [[1, 2, 3], [], [100], list(range(101)), [0]],
        random.integers(-1, 101, (5, 40)),
    ):
        for allowed in (None, mask[0] if rows == 1 else mask):
            got = blocked(vectors).search(queries, 30, exclude=exclude, mask=allowed)
            assert_equal(got, whole.search(queries, 30, exclude=exclude, mask=allowed))


def test_batches_that_do_not_fit_are_asked_in_parts():
    vectors, queries = awkward(3000, 16), normal(500, 16, 6)
    random = np.random.default_rng(7)
    exclude, mask = random.integers(0, 3000, 500), random.random((500, 3000)) < 0.9
    index = blocked(vectors, memory="1MB", threads=1)
    assert room.Room(1_000_000, 16, 10, 1).most_queries(500) < 500
    got = index.search(queries, 10, exclude=exclude, mask=mask)
    assert_equal(got, ExactIndex(vectors).search(queries, 10, exclude=exclude, mask=mask))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_files_are_read_as_arrays_are(tmp_path, cut, dtype):
    cut(17)
    vectors = awkward(100, 12).astype(dtype)
    np.save(tmp_path / "v.npy", vectors)
    queries = normal(3, 12, 8)
    got = BlockedIndex(VectorDataset(tmp_path / "v.npy"), memory="64MB").search(queries, 9)
    assert_equal(got, ExactIndex(vectors).search(queries, 9))


def test_one_query_is_a_row_and_no_query_is_no_row():
    index = blocked(awkward(30, 6))
    assert index.search(normal(1, 6)[0], 4)[0].shape == (1, 4)
    assert index.search(np.empty((0, 6), np.float32), 4)[0].shape == (0, 4)


@pytest.mark.parametrize(
    ("queries", "options", "message"),
    [
        (normal(2, 5), {}, "queries have 5 dimensions"),
        (normal(2, 6), {"k": 0}, "k is 0"),
        (np.full((1, 6), np.nan, np.float32), {}, "queries: row 0, column 0 is nan"),
        (normal(2, 6), {"exclude": [1, 30]}, "exclude holds id 30; expected ids in 0..30"),
        (normal(2, 6), {"exclude": [1]}, "exclude has 1 lists"),
        (normal(2, 6), {"mask": np.ones(29, np.bool_)}, r"mask is bool \(29,\)"),
        (normal(2, 6), {"mask": np.ones(30)}, "mask is float64"),
        (normal(2, 6).astype(int), {}, "expected floating-point numbers"),
    ],
)
def test_what_does_not_fit_is_told(queries, options, message):
    with pytest.raises(InputError, match=message):
        blocked(normal(30, 6)).search(queries, **{"k": 3, **options})


def test_a_row_that_is_not_finite_is_named_by_its_number(cut):
    cut(7)
    vectors = normal(30, 6)
    vectors[17, 3] = np.inf
    with pytest.raises(InputError, match="vectors: row 17, column 3 is inf"):
        blocked(vectors).search(normal(1, 6), 3)


def test_too_little_memory_is_told():
    with pytest.raises(InputError, match="memory is 1000 bytes"):
        blocked(normal(30, 384), memory=1000).search(normal(1, 384), 3)


def test_the_threads_of_the_executor_share_the_memory():
    vectors, query = normal(30, 8), normal(1, 8)
    index = blocked(vectors, memory="500kB", executor=LocalExecutor(threads=2), threads=64)
    assert_equal(index.search(query, 3), ExactIndex(vectors).search(query, 3))
    with pytest.raises(InputError, match="no room for one query"):
        blocked(vectors, memory="500kB", executor=LocalExecutor(threads=64)).search(query, 3)


MEASURED = """
import sys
import numpy as np
from fastrecall.dataset import VectorDataset
from fastrecall.search.blocks import BlockedIndex
class Read:  # and keep nothing
    def __init__(self, path):
        self.path, self.dim = path, 384
    def __len__(self):
        return 60_000
    def read(self, start, stop):
        count = (stop - start) * 384
        return np.fromfile(self.path, "<f4", count, offset=128 + start * 1536).reshape(-1, 384)
source = {"read": Read, "dataset": VectorDataset}[sys.argv[4]](sys.argv[1])
def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if "VmHWM" in line)
queries = np.random.default_rng(1).standard_normal((int(sys.argv[3]), 384), dtype=np.float32)
BlockedIndex(source, memory="1MB").search(queries[:0], 1)
open("/proc/self/clear_refs", "w").write("5")
before = peak()
BlockedIndex(source, memory=int(sys.argv[2])).search(queries, 100)
print((peak() - before) * 1024)
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="Linux tells the peak")
@pytest.mark.parametrize(("count", "memory"), [(1, 20_000_000), (600, 30_000_000)])
@pytest.mark.parametrize(("kind", "kept"), [("read", 0), ("dataset", 32 << 20)])
def test_no_more_memory_is_taken_than_was_given(tmp_path, count, memory, kind, kept):
    path = tmp_path / "v.npy"
    np.save(path, normal(60_000, 384))  # 92 MB
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, str(path), str(memory), str(count), kind],
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    taken = int(done.stdout)
    assert memory / 8 < taken < memory * 1.05 + kept
