"""An evaluation whose work is spread over tasks: the record of one process, to the last rank."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

import fastrecall as fr
from fastrecall.corpus import node_texts, write_dataset
from fastrecall.execution import Executor, LocalExecutor, RayExecutor
from fastrecall.execution.base import Result, Shared, Task
from fastrecall.search.blocks import counting, exact
from fastrecall.types import Corpus

CORPUS = "demo:1500"

Anything = TypeVar("Anything")


@pytest.fixture(autouse=True)
def many_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts so small that a small corpus has several; only who hands out tasks reads these."""
    monkeypatch.setattr(exact, "ROWS_OF_TASK", 400)
    monkeypatch.setattr(counting, "TEXTS_OF_TASK", 400)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shared") / "tickets"
    write_dataset(CORPUS, folder)
    return folder


def evaluated(corpus: Corpus, cache: Path | bool, **options: Any) -> dict[str, Any]:
    record = dict(fr.evaluate(corpus, model="fake", cache=cache, **options))
    return {key: value for key, value in record.items() if key != "timings"}


def in_tasks(dataset: Path, cache: Path, executor: Executor) -> dict[str, Any]:
    return evaluated(fr.load_corpus(dataset), cache, executor=executor, memory="300MB")


class FarAway(LocalExecutor):
    """Sends everything as to another process: pickled, and arrays are read-only there."""

    def map(
        self,
        function: Callable[[Shared, Task, int], Result],
        tasks: Iterable[Task],
        *,
        shared: Shared,
    ) -> Iterator[Result]:
        there = sent(shared)
        for task in tasks:
            yield sent(sent(function)(there, sent(task), self.threads))


def sent(what: Anything) -> Anything:
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(what, protocol=5, buffer_callback=buffers.append)
    arrived: Anything = pickle.loads(data, buffers=[bytes(buffer.raw()) for buffer in buffers])
    return arrived


def test_tasks_change_nothing(dataset: Path, tmp_path: Path) -> None:
    whole = evaluated(fr.load_corpus(dataset), False)
    assert in_tasks(dataset, tmp_path, FarAway(threads=1)) == whole


def test_tickets_in_files_are_sent_as_a_path(dataset: Path) -> None:
    texts = node_texts(fr.load_corpus(dataset))
    sent = pickle.dumps(texts)
    assert len(sent) < 10_000
    assert list(pickle.loads(sent)) == list(texts)


@pytest.mark.slow
def test_a_cluster_changes_nothing(cluster: Any, dataset: Path, tmp_path: Path) -> None:
    whole = evaluated(fr.load_corpus(dataset), False)
    with RayExecutor(address=cluster.address) as executor:
        assert in_tasks(dataset, tmp_path, executor) == whole
