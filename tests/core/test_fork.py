"""A forked child of a process that used the engine, also while other threads of it are busy."""

from __future__ import annotations

import multiprocessing
import sysconfig
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
from tests.core.crowd import Crowd, crowd
from tests.forked import in_child, needs_fork

from fastrecall import HNSW
from fastrecall.errors import InputError

pytestmark = [
    needs_fork,
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning"),
]

needs_gil = pytest.mark.skipif(
    bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
    reason="a free-threaded Python frees no locks of its own objects in a child",
)

_parent: tuple[Crowd, dict] | None = None
"""What multiprocessing's children find as it was when they were forked off."""


@pytest.fixture(scope="module")
def everything() -> Crowd:
    return crowd(threads=2)


@pytest.fixture
def busy(everything: Crowd) -> Iterator[None]:
    """Three threads that use the same objects all the time."""
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            everything.answers()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    yield
    stop.set()
    for thread in threads:
        thread.join()


def test_a_child_answers_as_its_parent(everything: Crowd) -> None:
    expected = everything.answers()
    assert in_child(lambda: everything.wrong(expected)) == "[]"
    assert everything.wrong(expected) == []


@needs_gil
def test_a_child_of_a_busy_parent_answers_as_well(everything: Crowd, busy: None) -> None:
    expected = everything.answers()
    for _ in range(10):
        assert in_child(lambda: everything.wrong(expected)) == "[]"


@needs_gil
def test_a_child_changes_its_copy_only(everything: Crowd, busy: None) -> None:
    def change() -> list[int]:
        everything.hnsw.add(everything.vectors[:5])
        everything.hnsw.delete([0])
        everything.hnsw.compact()
        return everything.hnsw.ids[-3:].tolist()

    assert in_child(change) == "[702, 703, 704]"
    assert len(everything.hnsw) == 700


def test_a_grandchild_answers_too(everything: Crowd) -> None:
    expected = everything.answers()
    assert in_child(lambda: in_child(lambda: everything.wrong(expected))) == "[]"


def test_an_index_that_was_being_changed_is_refused_in_the_child() -> None:
    vectors = np.random.default_rng(6).standard_normal((20_000, 48)).astype(np.float32)
    index = HNSW(48, threads=1)
    adding = threading.Thread(target=index.add, args=(vectors,))
    adding.start()
    time.sleep(0.2)  # of several seconds

    def refusal(question: Callable[[], object]) -> str:
        with pytest.raises(InputError) as caught:
            question()
        return str(caught.value)

    def ask() -> str:
        search, add = (lambda: index.search(vectors[:1], 1)), (lambda: index.add(vectors[:1]))
        return f"{refusal(search)}\n{refusal(add)}"

    answer = in_child(ask)
    assert adding.is_alive()
    adding.join()
    line = (
        "the index was being changed by another thread when this process was forked off; "
        "load it or build it again here"
    )
    assert answer.split("\n") == [line, line]
    assert len(index) == 20_000


def _wrong_in_child(_: int) -> list[str]:
    assert _parent is not None
    return _parent[0].wrong(_parent[1])


def test_multiprocessing_that_forks(everything: Crowd) -> None:
    global _parent
    _parent = everything, everything.answers()
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        results = [pool.submit(_wrong_in_child, task) for task in range(4)]
        assert [result.result(timeout=60) for result in results] == [[]] * 4
    assert _parent[0].wrong(_parent[1]) == []
