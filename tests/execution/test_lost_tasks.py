"""A task that Ray has lost sight of, without a cluster: Ray is played by a few lines."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from fastrecall.errors import RemoteError
from fastrecall.execution import ray as module
from fastrecall.execution.ray import RayExecutor


class PlayedRay:
    """Two nodes, of which the second is lost with what was handed out first.

    When it *gives_up*, that run comes to an end after all, with an error of Ray's.
    """

    exceptions = SimpleNamespace(RayTaskError=ZeroDivisionError, RayError=ArithmeticError)

    def __init__(self, *, loses: bool = True, gives_up: bool = False) -> None:
        self.loses = loses
        self.gives_up = gives_up
        self.asked = 0
        self.started: list[int] = []

    def is_initialized(self) -> bool:
        return True

    def nodes(self) -> list[dict[str, Any]]:
        self.asked += 1
        names = ("a",) if self.loses and self.asked > 2 else ("a", "b")
        return [{"NodeID": name, "Alive": True, "Resources": {"CPU": 1.0}} for name in names]

    def put(self, shared: Any) -> Any:
        return shared

    def remote(self, _: Any) -> Any:
        def start(*given: Any) -> int:
            self.started.append(given[3])
            return len(self.started) - 1

        return SimpleNamespace(options=lambda **_: SimpleNamespace(remote=start))

    def wait(self, runs: list[int], **_: Any) -> tuple[list[int], list[int]]:
        """The very first run does not end once its node is lost; before, it takes a while."""
        ends = not self.loses or (self.gives_up and len(runs) > 1)
        ended = [run for run in runs if run != 0 or (ends and self.asked > 5)]
        return ended[:1], runs

    def get(self, run: int) -> int:
        if self.gives_up and run == 0:
            raise OverflowError("the node died")
        return 10 * self.started[run]


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_UNSURE_S", 0.0)
    monkeypatch.setattr(module, "_LOOK_EVERY_S", 0.0)


def run(ray: PlayedRay) -> list[int]:
    executor = RayExecutor.__new__(RayExecutor)
    executor.threads, executor.memory, executor._ray = 1, None, ray
    return list(executor.map(lambda *_: 0, range(6), shared=None))


def test_a_task_that_does_not_come_back_after_a_loss_is_handed_out_once_more() -> None:
    ray = PlayedRay(loses=True)
    assert run(ray) == [0, 10, 20, 30, 40, 50]
    assert sorted(ray.started) == [0, 0, 1, 2, 3, 4, 5]


def test_a_slow_task_is_left_alone_while_no_node_is_lost() -> None:
    ray = PlayedRay(loses=False)
    assert run(ray) == [0, 10, 20, 30, 40, 50]
    assert sorted(ray.started) == [0, 1, 2, 3, 4, 5]


def test_a_run_that_is_given_up_does_not_count_while_there_is_another() -> None:
    ray = PlayedRay(gives_up=True)
    assert run(ray) == [0, 10, 20, 30, 40, 50]


def test_what_the_cluster_does_not_take_is_told() -> None:
    ray = PlayedRay()

    def full(_: Any) -> Any:
        raise OverflowError("the object store is full")

    ray.put = full  # type: ignore[method-assign]
    with pytest.raises(RemoteError, match=r"OverflowError: the object store is full.*run again"):
        run(ray)
