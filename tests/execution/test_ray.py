"""Tasks on a Ray cluster: the contract of executors, and what happens on bad days."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.execution import tasks
from tests.execution.conftest import NODE

from fastrecall.errors import InputError, RemoteError
from fastrecall.execution import LocalExecutor, RayExecutor

pytestmark = pytest.mark.slow

NODES = 2


@pytest.fixture(scope="module")
def executor(cluster: Any) -> Iterator[RayExecutor]:
    with RayExecutor(address=cluster.address) as executor:
        yield executor


@pytest.fixture
def marks(tmp_path: Path) -> tasks.Marks:
    return tasks.Marks(tmp_path)


def test_results_come_in_the_order_of_tasks(executor: RayExecutor) -> None:
    assert list(executor.map(tasks.product, range(50), shared=3)) == [
        (3 * task, 1) for task in range(50)
    ]
    assert list(executor.map(tasks.product, [], shared=3)) == []


def test_what_is_shared_is_sent_once_and_is_the_same(executor: RayExecutor) -> None:
    numbers = np.random.default_rng(1).standard_normal(3_000_000, dtype=np.float32)
    local = list(LocalExecutor().map(tasks.sum_of_part, range(7), shared=numbers))
    assert list(executor.map(tasks.sum_of_part, range(7), shared=numbers)) == local


def test_tasks_are_read_only_as_fast_as_results_are_taken(
    executor: RayExecutor, marks: tasks.Marks
) -> None:
    read = 0

    def endless() -> Iterator[int]:
        nonlocal read
        while True:
            read += 1
            yield read

    results = executor.map(tasks.mark, endless(), shared=marks)
    for taken in range(1, 30):
        next(results)
        assert read <= 2 * NODES + taken - 1
    time.sleep(2)  # a cluster that is left alone for a while runs no more than it was given
    assert marks.all() <= 2 * NODES + 28
    results.close()  # type: ignore[attr-defined]


def test_an_error_of_a_task_is_the_error_that_it_was(executor: RayExecutor) -> None:
    results = executor.map(tasks.refuse, range(10), shared="vectors.npy")
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(InputError, match=r"^vectors.npy: row 2 is bad; expected a good one$"):
        next(results)
    with pytest.raises(ZeroDivisionError) as caught:
        list(executor.map(tasks.divide, [1, 0], shared=5))
    assert "tasks.py" in str(caught.value.__cause__)  # where it happened, on the other machine


def test_a_node_that_lacks_a_package_is_told(executor: RayExecutor) -> None:
    with pytest.raises(RemoteError, match=r"cannot import .*no_such_package.*on every node"):
        list(executor.map(tasks.need_more, ["no_such_package"], shared=None))


def test_storage_that_fails_for_a_moment_is_asked_again(
    executor: RayExecutor, marks: tasks.Marks
) -> None:
    assert list(executor.map(tasks.stumble, range(4), shared=marks)) == [0, 1, 2, 3]
    assert [marks.of(task) for task in range(4)] == [1, 2, 1, 1]


def test_what_will_fail_again_is_not_tried_again(executor: RayExecutor, marks: tasks.Marks) -> None:
    with pytest.raises(FileNotFoundError, match="/nowhere/5"):
        list(executor.map(tasks.find_nothing, [5], shared=marks))
    assert marks.of(5) == 1


def test_a_killed_worker_is_replaced(executor: RayExecutor, marks: tasks.Marks) -> None:
    assert list(executor.map(tasks.die_once, range(4), shared=marks)) == [0, 1, 2, 3]
    assert marks.of(1) == 2


def test_a_task_that_kills_every_worker_comes_to_an_end(
    executor: RayExecutor, marks: tasks.Marks
) -> None:
    with pytest.raises(RemoteError, match=r"given up on the cluster .*run again"):
        list(executor.map(tasks.die_always, [0], shared=marks))
    assert marks.of(0) == 6


def test_a_lost_node_costs_only_time(cluster: Any, executor: RayExecutor) -> None:
    numbers = np.random.default_rng(2).standard_normal(100_000, dtype=np.float32)
    local = list(LocalExecutor().map(tasks.sum_of_part, range(40), shared=numbers))
    node = cluster.add_node(**NODE)
    cluster.wait_for_nodes()
    results = executor.map(tasks.sum_of_part, range(40), shared=numbers)
    first = [next(results) for _ in range(10)]
    cluster.remove_node(node, allow_graceful=False)  # SIGKILL, its workers too
    assert first + list(results) == local


def test_a_task_too_big_for_every_node_is_refused_at_once(cluster: Any) -> None:
    start = time.monotonic()
    wide = RayExecutor(address=cluster.address, threads=3)
    with pytest.raises(InputError, match=r"takes 3 CPUs, and no node .* more than 1 CPUs"):
        list(wide.map(tasks.product, [1], shared=1))
    big = RayExecutor(address=cluster.address, memory=1 << 40)
    with pytest.raises(InputError, match="lower --threads or --memory"):
        list(big.map(tasks.product, [1], shared=1))
    assert time.monotonic() - start < 10


def test_libraries_keep_to_the_threads_of_a_task(executor: RayExecutor) -> None:
    [threads] = executor.map(tasks.inner_threads, [0], shared=None)
    assert threads
    assert set(threads.values()) == {1}
