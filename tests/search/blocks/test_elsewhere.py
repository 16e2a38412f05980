"""What tasks need can travel to another process, and what they find back."""

from __future__ import annotations

import os
import pickle

import numpy as np
import pytest

from fastrecall import ExactIndex
from fastrecall.dataset import VectorDataset
from fastrecall.execution import LocalExecutor
from fastrecall.search.blocks import ArraySource, BlockedBM25, BlockedIndex, knn, room
from fastrecall.search.bm25 import BM25


class Travelling(LocalExecutor):
    """Sends everything through pickle, and each task twice: once as if its machine were lost."""

    def map(self, function, tasks, *, shared):
        sent = pickle.dumps((function, shared))
        for task in tasks:
            for _ in range(2):
                there, what = pickle.loads(sent)
                found = there(what, pickle.loads(pickle.dumps(task)), 1)
            yield pickle.loads(pickle.dumps(found))


@pytest.fixture
def vectors(tmp_path):
    vectors = np.random.default_rng(1).standard_normal((300, 16)).astype(np.float32)
    np.save(tmp_path / "v.npy", vectors)
    return vectors


def assert_equal(got, expected):
    np.testing.assert_array_equal(got[0], expected[0])
    np.testing.assert_array_equal(got[1], expected[1])


def test_vectors(tmp_path, vectors, monkeypatch):
    monkeypatch.setattr(knn, "ROWS_OF_PART", 70)
    monkeypatch.setattr(room.Room, "holds_graph", lambda *_: False)
    source = VectorDataset(tmp_path / "v.npy")
    assert len(pickle.dumps(source)) < 1000
    index = BlockedIndex(source, memory="8MB", executor=Travelling())
    mask = np.arange(300) % 3 > 0
    whole = ExactIndex(vectors)
    assert_equal(
        index.search(vectors[:9], 5, exclude=np.arange(9), mask=mask),
        whole.search(vectors[:9], 5, exclude=np.arange(9), mask=mask),
    )
    assert_equal(index.knn_graph(4), whole.knn_graph(4))
    assert_equal(index.knn_graph(4, folder=tmp_path / "graph"), whole.knn_graph(4))


def test_words(tmp_path):
    texts = [f"w{i % 7} w{i % 3} only{i}" for i in range(50)]
    index = BlockedBM25(texts, memory=20_000, folder=tmp_path, executor=Travelling())
    assert len(list(tmp_path.iterdir())) > 2
    asked = ["w1 w2", "only7 w0"]
    assert_equal(
        index.search(asked, 9, exclude=[1, 7]), BM25(texts).search(asked, 9, exclude=[1, 7])
    )
    np.testing.assert_array_equal(index.scores("w1"), BM25(texts).scores("w1"))


def test_what_killed_tasks_left_goes_and_what_others_write_stays(tmp_path):
    names = {True: [], False: []}
    for part in ("neighbours-000000000000", "postings-000000000000-000000000003"):
        for old in names:
            file = tmp_path / f".{part}.{old}"
            file.write_bytes(b"part")
            if old:
                os.utime(file, (1, 1))
            names[old].append(file)
    BlockedIndex(ArraySource(np.eye(3)), memory="8MB").knn_graph(1, folder=tmp_path)
    BlockedBM25(["a", "b", "c"], memory="8MB", folder=tmp_path)
    assert not any(file.exists() for file in names[True])
    assert all(file.exists() for file in names[False])
