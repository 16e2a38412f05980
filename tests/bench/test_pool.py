"""Contenders in processes of their own."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from contenders import exact, graph
from harness import data
from harness.pool import ContenderError, Maker, Pool

pytestmark = pytest.mark.filterwarnings("default")  # of multiprocessing, while it starts


@pytest.fixture
def pool():
    pytest.importorskip("threadpoolctl")
    edges = (np.array([0, 1], np.int32), np.array([1, 2], np.int32))
    given = (edges, 4, np.array([[0]], np.int32), 1)
    makers = {
        "fastrecall": Maker(graph.Fastrecall, given),
        "numpy": Maker(graph.NumpyFrontiers, given),
        "broken": Maker(graph.Graph, given),
    }
    with Pool(makers, threads=1) as pool:
        yield pool


def test_what_cannot_be_made_is_absent_with_its_reason(pool):
    assert pool.names == ["fastrecall", "numpy"]
    assert pool.absent == {"broken": "NotImplementedError: "}
    with pytest.raises(ContenderError, match="broken is not there"):
        pool.ask("broken", "bfs", threads=1)


def test_all_take_as_many_turns(pool):
    times = pool.turns("bfs", threads=1, rounds=4, floor=0.001, slow=1e9)
    assert {name: len(seconds) for name, seconds in times.items()} == {"fastrecall": 4, "numpy": 4}
    for name in pool.names:
        assert pool.ask(name, "bfs_answer", threads=1).tolist() == [0, 1, 2, -1]
        pool.ask(name, "walks", threads=1)
        assert [a.tolist() for a in pool.ask(name, "walk_answers", threads=1)] == [[0, 1]]


def test_a_process_that_dies_is_left_behind(pool):
    pid = pool.processes[1]
    os.kill(pid, 9)
    times = pool.turns("bfs", threads=1, rounds=2, floor=0.001)
    assert list(times) == ["fastrecall"]
    assert "no answer" in pool.absent["numpy"]
    assert pool.names == ["fastrecall"]


def test_processes_end_with_the_pool():
    pytest.importorskip("threadpoolctl")
    edges = (np.array([0], np.int32), np.array([1], np.int32))
    given = (edges, 2, np.array([[0]], np.int32), 1)
    with Pool({"numpy": Maker(graph.NumpyFrontiers, given)}, threads=1) as pool:
        [pid] = pool.processes
    time.sleep(0.01)
    if sys.platform == "linux":
        assert not Path(f"/proc/{pid}").exists()


def test_recall_counts_ties_and_no_id_twice(tmp_path):
    vectors = np.eye(4, data.DIM, dtype=np.float32)
    np.save(tmp_path / "v.npy", vectors)
    query = (vectors[:1] + vectors[1:2] + vectors[2:3]) / np.float32(np.sqrt(3))
    best = np.full((1, 2), query[0, 0], np.float64)
    for ids, share in (([0, 1], 1.0), ([2, 1], 1.0), ([1, 1], 0.5), ([1, 3], 0.5), ([-1, 9], 0.0)):
        assert data.recall(tmp_path / "v.npy", query, np.array([ids]), best) == share


def test_float64_truth_is_the_truth(tmp_path, monkeypatch):
    monkeypatch.setattr(data, "BUILD", tmp_path)
    vectors, queries = data.unit_vectors(300, 1), data.unit_vectors(3, 2)
    np.save(tmp_path / "v.npy", vectors)
    best = data.best_scores(tmp_path / "v.npy", queries, 5, name="queries")
    scores = -np.sort(-(queries.astype(np.float64) @ vectors.astype(np.float64).T), axis=1)
    np.testing.assert_allclose(best, scores[:, :5], rtol=0, atol=1e-15)


def test_neighbours_leave_out_the_vector_itself(tmp_path):
    np.save(tmp_path / "v.npy", data.unit_vectors(60, 1))
    np.save(tmp_path / "q.npy", data.unit_vectors(2, 2))
    peer = exact.Numpy(tmp_path / "v.npy", tmp_path / "q.npy")
    ours = exact.Fastrecall(tmp_path / "v.npy", tmp_path / "q.npy", "int8")
    ours.neighbours(4)
    found = {}
    for _ in range(3):  # a third of the vectors each time
        peer.neighbours(4, 3)
        rows, ids = peer.neighbour_answers(20)
        found.update(zip(rows.tolist(), ids.tolist(), strict=True))
    rows, ids = ours.neighbour_answers(60)
    assert found == dict(zip(rows.tolist(), ids.tolist(), strict=True))
