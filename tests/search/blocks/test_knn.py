"""The graph of neighbours in parts: equal to the whole, resumed after any stop."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from tests.children import environment

from fastrecall import ExactIndex
from fastrecall.dataset import VectorDataset
from fastrecall.errors import InputError
from fastrecall.search.blocks import ArraySource, BlockedIndex, knn, room


@pytest.fixture
def in_parts(monkeypatch):
    """Makes parts and blocks of so many vectors."""

    def into(part, block):
        monkeypatch.setattr(knn, "ROWS_OF_PART", max(1, part))
        monkeypatch.setattr(room.Room, "holds_graph", lambda *_: False)
        monkeypatch.setattr(room.Room, "rows_of_block", lambda *_: max(1, block))

    return into


def awkward(n, dim=12):
    vectors = np.random.default_rng(n).standard_normal((n, dim)).astype(np.float32)
    if n > 5:
        vectors[n // 2 :: 3] = vectors[0]
        vectors[1::5] = 0
    return vectors


def graph(vectors, k, **options):
    return BlockedIndex(ArraySource(vectors), memory="64MB", threads=2).knn_graph(k, **options)


def assert_equal(got, expected):
    np.testing.assert_array_equal(got[0], expected[0])
    np.testing.assert_array_equal(got[1].view(np.uint32), expected[1].view(np.uint32))


@pytest.mark.parametrize("n", [0, 1, 2, 40])
@pytest.mark.parametrize("part", [1, 7, 39, 40, 41])
@pytest.mark.parametrize("k", [1, 6, 50])
def test_parts_of_any_size_make_the_whole(in_parts, tmp_path, n, part, k):
    in_parts(part, 9)
    vectors = awkward(n)
    expected = ExactIndex(vectors).knn_graph(k)
    assert_equal(graph(vectors, k), expected)
    assert_equal(graph(vectors, k, folder=tmp_path), expected)


def test_what_fits_is_compared_at_once(tmp_path, monkeypatch):
    vectors = awkward(500)
    expected = ExactIndex(vectors).knn_graph(16)
    monkeypatch.setattr(knn, "ROWS_OF_PART", 120)
    monkeypatch.setattr(knn, "_by_search", None)  # would fail
    assert_equal(graph(vectors, 16), expected)
    assert_equal(graph(vectors, 16, folder=tmp_path), expected)
    assert len(list(tmp_path.iterdir())) == 5
    monkeypatch.setattr(room.Room, "holds_graph", lambda *_: False)  # less memory next time
    assert_equal(graph(vectors, 16, folder=tmp_path), expected)


def test_a_batch_that_does_not_fit_asks_in_turns(in_parts, monkeypatch):
    in_parts(300, 100)
    monkeypatch.setattr(room.Room, "most_queries", lambda *_: 37)
    vectors = awkward(500)
    assert_equal(graph(vectors, 5), ExactIndex(vectors).knn_graph(5))


def test_whole_parts_are_not_computed_again(in_parts, tmp_path, monkeypatch):
    in_parts(10, 16)
    vectors = awkward(95)
    expected = graph(vectors, 4, folder=tmp_path)
    computed = []
    inner = knn._by_search
    monkeypatch.setattr(
        knn, "_by_search", lambda job, task, threads: computed.append(task) or inner(job, task, 1)
    )
    assert_equal(graph(vectors, 4, folder=tmp_path), expected)
    assert computed == []

    files = sorted(tmp_path.iterdir())
    files[1].unlink()
    files[2].write_bytes(files[2].read_bytes()[:-7])
    files[3].write_bytes(b"")
    files[4].write_bytes(files[5].read_bytes())
    assert_equal(graph(vectors, 4, folder=tmp_path), expected)
    assert computed[:3] == [(10, 20), (20, 30), (30, 40)]


def test_a_flipped_byte_is_found_or_changes_nothing(in_parts, tmp_path):
    in_parts(40, 40)
    vectors = awkward(40)
    expected = graph(vectors, 3, folder=tmp_path)
    [file] = tmp_path.iterdir()
    good = file.read_bytes()
    for at in range(0, len(good), 11):
        file.write_bytes(good[:at] + bytes([good[at] ^ 0x41]) + good[at + 1 :])
        assert_equal(graph(vectors, 3, folder=tmp_path), expected)


def test_parts_of_other_vectors_or_another_k_do_not_count(in_parts, tmp_path):
    in_parts(10, 16)
    vectors = awkward(50)
    graph(vectors, 4, folder=tmp_path)
    assert_equal(graph(vectors, 5, folder=tmp_path), ExactIndex(vectors).knn_graph(5))
    vectors[49, 3] += 1
    assert_equal(graph(vectors, 5, folder=tmp_path), ExactIndex(vectors).knn_graph(5))


KILLED = """
import sys
from fastrecall.dataset import VectorDataset
from fastrecall.search.blocks import BlockedIndex, knn, room
knn.ROWS_OF_PART = 50
room.Room.holds_graph = lambda *_: False
BlockedIndex(VectorDataset(sys.argv[1]), memory="8MB", threads=1).knn_graph(5, folder=sys.argv[2])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="kill -9")
def test_a_killed_run_goes_on_from_its_whole_parts(in_parts, tmp_path, monkeypatch):
    vectors, folder = awkward(6000, 64), tmp_path / "graph"
    np.save(tmp_path / "v.npy", vectors)
    run = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path / "v.npy"), str(folder)], env=environment()
    )
    while run.poll() is None and len(list(folder.glob("neighbours-*"))) < 3:
        time.sleep(0.002)
    run.send_signal(signal.SIGKILL)
    assert run.wait() == -signal.SIGKILL
    there = len(list(folder.glob("neighbours-*")))
    assert 3 <= there < 120

    in_parts(50, 2000)
    computed = []
    inner = knn._by_search
    monkeypatch.setattr(
        knn, "_by_search", lambda job, task, threads: computed.append(task) or inner(job, task, 1)
    )
    source = VectorDataset(tmp_path / "v.npy")
    got = BlockedIndex(source, memory="64MB").knn_graph(5, folder=folder)
    assert_equal(got, ExactIndex(vectors).knn_graph(5))
    assert len(computed) == 120 - there


def test_a_part_that_starts_with_other_vectors_names_its_own_row(in_parts):
    vectors = awkward(30)
    vectors[21, 2] = np.nan
    job = knn.Job(ArraySource(vectors), room.Room(10**7, 12, 3, 1), None)
    in_parts(10, 4)
    with pytest.raises(InputError, match="vectors: row 21, column 2 is nan"):
        knn.neighbours_of(job, (20, 30), 1)


def test_bad_values_are_told(in_parts, tmp_path):
    with pytest.raises(InputError, match="k is 0"):
        graph(awkward(9), 0)
    in_parts(10, 4)
    vectors = awkward(30)
    vectors[21, 2] = np.nan
    with pytest.raises(InputError, match="vectors: row 21, column 2 is nan"):
        graph(vectors, 3, folder=tmp_path)
