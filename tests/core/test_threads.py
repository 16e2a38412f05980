"""Calls from many Python threads on the same objects: everybody gets what a lone caller gets."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.children import environment
from tests.core.crowd import Crowd, crowd

from fastrecall import HNSW

CALLERS = 6


@pytest.fixture(autouse=True)
def _frequent_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def all_at_once(work: list) -> list:
    """The results of callables that start at the same moment, one thread each."""
    start = threading.Barrier(len(work))

    def run(one):
        start.wait()
        return one()

    with ThreadPoolExecutor(len(work)) as pool:
        return [future.result(timeout=120) for future in [pool.submit(run, one) for one in work]]


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has a GIL")
def test_the_engine_leaves_a_free_threaded_python_free() -> None:
    code = "import sys, fastrecall; fastrecall.HNSW, fastrecall.rrf; print(sys._is_gil_enabled())"
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stdout.strip() == "False", result.stderr


@pytest.mark.parametrize("threads", [1, 2])
def test_all_get_what_one_alone_gets(threads: int) -> None:
    everything = crowd(threads=threads)
    expected = everything.answers()
    assert crowd(threads=5).wrong(expected) == []
    assert all_at_once([lambda: everything.wrong(expected)] * CALLERS) == [[]] * CALLERS


@pytest.mark.parametrize("question", crowd(threads=1).questions)
def test_callers_of_the_same_question(question: str) -> None:
    everything = crowd(threads=2)
    only = Crowd({question: everything.questions[question]}, everything.hnsw, everything.vectors)
    expected = only.answers()
    assert (
        all_at_once([lambda: only.wrong(expected) + only.wrong(expected)] * CALLERS)
        == [[]] * CALLERS
    )


def test_a_search_sees_all_of_an_addition_or_nothing() -> None:
    """Additions and deletions of pairs, while others search for them."""
    random = np.random.default_rng(3)
    vectors = random.standard_normal((400, 16)).astype(np.float32)
    index = HNSW(16, m=6, ef_construction=40, storage="float32", threads=2)
    index.add(vectors)
    pair = np.repeat(vectors[:1], 2, axis=0)
    done = threading.Event()

    def change() -> None:
        for round in range(40):
            ids = [1000 + 2 * round, 1001 + 2 * round]
            index.add(pair, ids=ids)
            index.delete(ids)
            if round % 10 == 9:
                index.compact()
        done.set()

    def watch() -> int:
        searches = 0
        while not done.is_set() or searches == 0:
            ids, scores = index.search(vectors[:1], 5, ef=60)
            found = ids[0].tolist()
            assert len(set(found)) == 5
            assert found[0] == 0
            newcomers = [id for id in found if id >= 1000]
            assert len(newcomers) in (0, 2), found
            assert newcomers in ([], [newcomers[0], newcomers[0] + 1] if newcomers else [])
            assert (np.diff(scores[0]) <= 0).all()
            assert len(index.ids) in (400, 402)
            searches += 1
        return searches

    results = all_at_once([change, watch, watch, watch])
    assert all(searches > 0 for searches in results[1:])
    assert len(index) == 400


def test_asking_for_the_size_while_another_thread_adds_does_not_hang() -> None:
    vectors = np.random.default_rng(4).standard_normal((9000, 32)).astype(np.float32)
    index = HNSW(32, threads=1)
    adding = threading.Thread(target=index.add, args=(vectors,), daemon=True)
    adding.start()
    sizes = []
    end = time.monotonic() + 120
    while adding.is_alive() and time.monotonic() < end:
        sizes += [len(index), index.nbytes, index.deleted]
        repr(index)
        time.sleep(0.01)
    assert not adding.is_alive()
    assert set(sizes[::3]) <= {0, 9000}
    assert len(index) == 9000


def test_an_addition_is_not_kept_waiting_by_searches_without_end() -> None:
    vectors = np.random.default_rng(5).standard_normal((2000, 32)).astype(np.float32)
    index = HNSW(32, m=6, ef_construction=30, threads=1)
    index.add(vectors)
    done = threading.Event()

    def search() -> None:
        while not done.is_set():
            index.search(vectors[:40], 5)

    def add() -> None:
        for row in range(10):
            index.add(vectors[row : row + 1])
        done.set()

    all_at_once([add, *[search] * CALLERS])
    assert len(index) == 2010


def test_objects_may_go_while_others_are_busy() -> None:
    def work() -> None:
        for _ in range(3):
            everything = crowd(threads=2)
            everything.wrong(everything.answers())

    all_at_once([work] * 3)
