"""Texts into a dataset, file by file: the vectors of `embed`, whatever happens on the way."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrecall.embedding as fe
from fastrecall.dataset import Storage, VectorDataset, VectorWriter
from fastrecall.embedding import stream
from fastrecall.embedding.stream import embed_to_dataset
from fastrecall.errors import CacheError, InputError, ModelError

WORDS = ("disk", "queue", "leader", "lock")
TEXTS = [f"issue #{n}: the {WORDS[n % 4]} fails {n}" for n in range(250)]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many texts each task embedded, as they run."""
    counts: list[int] = []
    original = stream.embed_with_report

    def counting(texts: Any, **options: Any) -> Any:
        counts.append(len(texts))
        return original(texts, **options)

    monkeypatch.setattr(stream, "embed_with_report", counting)
    return counts


@pytest.mark.parametrize("rows", [0, 1, 99, 100, 101, 250])
def test_the_vectors_are_those_of_embed(tmp_path: Path, rows: int) -> None:
    dataset = embed_to_dataset(TEXTS[:rows], tmp_path, model="fake", rows_per_file=100)
    expected = fe.embed(TEXTS[:rows], model="fake")
    assert np.array_equal(dataset.read(0, rows), expected)
    assert dataset.about["model"]["name"] == "fake"


def test_a_real_model_gives_the_bits_of_embed(tmp_path: Path) -> None:
    texts = TEXTS[:45]
    dataset = embed_to_dataset(texts, tmp_path / "v", rows_per_file=20, threads=1)
    assert np.array_equal(dataset.read(0, 45), fe.embed(texts, cache=False))


@pytest.mark.parametrize("storage", ["float16", "int8"])
def test_smaller_storage_is_what_a_writer_makes(tmp_path: Path, storage: Storage) -> None:
    embed_to_dataset(TEXTS, tmp_path / "a", model="fake", storage=storage)
    with VectorWriter(tmp_path / "b", dim=384, storage=storage) as writer:
        writer.append(fe.embed(TEXTS, model="fake"))
    a, b = (VectorDataset(tmp_path / name).read(0, len(TEXTS)) for name in "ab")
    assert np.array_equal(a, b)


def test_batches_of_any_size_are_the_same_as_a_list(tmp_path: Path) -> None:
    embed_to_dataset(TEXTS, tmp_path / "list", model="fake", rows_per_file=70)
    for size in (1, 69, 70, 71, 500):
        batches = (TEXTS[at : at + size] for at in range(0, len(TEXTS), size))
        embed_to_dataset(batches, tmp_path / str(size), model="fake", rows_per_file=70)
        assert contents(tmp_path / str(size)) == contents(tmp_path / "list")


def test_a_second_run_embeds_nothing(tmp_path: Path, embedded: list[int]) -> None:
    embed_to_dataset(TEXTS, tmp_path, model="fake", rows_per_file=100)
    before = contents(tmp_path)
    assert embedded == [100, 100, 50]
    embed_to_dataset(TEXTS, tmp_path, model="fake", rows_per_file=100)
    assert embedded == [100, 100, 50]
    assert contents(tmp_path) == before


def test_a_changed_text_costs_its_file(tmp_path: Path, embedded: list[int]) -> None:
    embed_to_dataset(TEXTS, tmp_path, model="fake", rows_per_file=100)
    changed = [*TEXTS[:120], "another title", *TEXTS[121:]]
    dataset = embed_to_dataset(changed, tmp_path, model="fake", rows_per_file=100)
    assert embedded == [100, 100, 50, 100]
    assert np.array_equal(dataset.read(0, 250), fe.embed(changed, model="fake"))


def test_more_and_fewer_texts(tmp_path: Path, embedded: list[int]) -> None:
    for rows in (250, 260, 90):
        texts = (TEXTS * 2)[:rows]
        dataset = embed_to_dataset(texts, tmp_path, model="fake", rows_per_file=100)
        assert np.array_equal(dataset.read(0, rows), fe.embed(texts, model="fake"))
        assert len(list(tmp_path.glob("*.arrow"))) == -(-rows // 100)
    assert embedded == [100, 100, 50, 60, 90]


def test_a_damaged_file_is_embedded_again(tmp_path: Path, embedded: list[int]) -> None:
    embed_to_dataset(TEXTS, tmp_path, model="fake", rows_per_file=100)
    before = contents(tmp_path)
    (tmp_path / "vectors-000001.arrow").write_bytes(b"ARROW1")
    embed_to_dataset(TEXTS, tmp_path, model="fake", rows_per_file=100)
    assert embedded == [100, 100, 50, 100]
    assert contents(tmp_path) == before


KILLED = """
import os, signal, sys
from fastrecall.embedding import stream
original, files = stream.write_file, []
def dying(path, *arguments, **options):
    if len(files) == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    files.append(path)
    return original(path, *arguments, **options)
stream.write_file = dying
texts = [f"text {n}" for n in range(250)]
stream.embed_to_dataset(texts, sys.argv[1], model="fake", rows_per_file=40)
"""


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL")
def test_killed_and_resumed_is_the_same_as_undisturbed(tmp_path: Path, embedded: list[int]) -> None:
    texts = [f"text {n}" for n in range(250)]
    broken = tmp_path / "broken"
    for files in (1, 3):
        command = [sys.executable, "-c", KILLED, str(broken), str(files)]
        assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    with pytest.raises(CacheError, match="the beginning of a vector dataset"):
        VectorDataset(broken)
    embed_to_dataset(texts, broken, model="fake", rows_per_file=40)
    assert embedded == [40, 40, 10]
    embed_to_dataset(texts, tmp_path / "whole", model="fake", rows_per_file=40)
    assert contents(broken) == contents(tmp_path / "whole")


def test_a_run_that_rewrites_a_file_leaves_no_dataset_until_it_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embed_to_dataset(TEXTS, tmp_path, model="fake", rows_per_file=100)

    def full(*_: Any, **__: Any) -> Any:
        raise CacheError("cannot write: disk full")

    monkeypatch.setattr(stream, "write_file", full)
    with pytest.raises(CacheError, match="disk full"):
        embed_to_dataset(TEXTS[::-1], tmp_path, model="fake", rows_per_file=100)
    with pytest.raises(CacheError, match="the beginning of a vector dataset"):
        VectorDataset(tmp_path)


class Lines:
    """A sequence that holds no texts: what is small to pickle and reads as it is asked."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.longest = 0

    def __len__(self) -> int:
        return len(self.path.read_text().splitlines())

    def __getitem__(self, rows: slice) -> list[str]:
        self.longest = max(self.longest, rows.stop - rows.start)
        return self.path.read_text().splitlines()[rows]


class Elsewhere:
    """Runs every task twice, in another process as far as pickle can tell, last ones first."""

    def map(
        self, function: Callable[..., Any], tasks: Iterable[Any], *, shared: Any
    ) -> Iterator[Any]:
        frozen = [pickle.dumps((function, shared, task)) for task in tasks]
        assert max(map(len, frozen)) < 2000
        results = {}
        for number in reversed(range(len(frozen))):
            for _ in range(2):
                again, job, task = pickle.loads(frozen[number])
                results[number] = again(job, task, 1)
        yield from (results[number] for number in sorted(results))


def test_tasks_carry_no_texts_and_may_run_anywhere_and_twice(tmp_path: Path) -> None:
    path = tmp_path / "texts"
    path.write_text("\n".join(TEXTS))
    embed_to_dataset(
        Lines(path), tmp_path / "a", model="fake", rows_per_file=60, executor=Elsewhere()
    )
    lines = Lines(path)
    embed_to_dataset(lines, tmp_path / "b", model="fake", rows_per_file=60)
    assert lines.longest == 60
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_another_model_or_storage_is_not_written_over(tmp_path: Path) -> None:
    embed_to_dataset(TEXTS[:9], tmp_path, model="fake")
    with pytest.raises(CacheError, match="holds float32 vectors of another model; expected"):
        embed_to_dataset(TEXTS[:9], tmp_path, model="minilm")
    with pytest.raises(CacheError, match="holds float32 vectors of fake; expected int8"):
        embed_to_dataset(TEXTS[:9], tmp_path, model="fake", storage="int8")
    assert len(VectorDataset(tmp_path)) == 9


def test_the_beginning_of_another_job_is_not_written_over(tmp_path: Path) -> None:
    embed_to_dataset(TEXTS, tmp_path, model="fake", rows_per_file=100)
    for name in ("manifest.json", "vectors-000000.arrow"):  # tasks may end in any order
        (tmp_path / name).unlink()
    before = contents(tmp_path)
    with pytest.raises(CacheError, match="holds float32 vectors of another model"):
        embed_to_dataset(TEXTS, tmp_path, model="minilm", rows_per_file=100)
    assert contents(tmp_path) == before


def test_another_model_on_a_worker_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = stream.embed_with_report
    monkeypatch.setattr(
        stream, "embed_with_report", lambda texts, **o: original(texts, **{**o, "model": "minilm"})
    )
    with pytest.raises(ModelError, match="of this machine is another one"):
        embed_to_dataset(TEXTS[:3], tmp_path, model="fake")


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("one string", "texts is one string"),
        (["a", None], "text 1 is of type NoneType"),
        (iter(["a string"]), "texts gave a string; expected batches"),
    ],
)
def test_what_is_no_text_is_refused(tmp_path: Path, texts: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        embed_to_dataset(texts, tmp_path / "v", model="fake")


def test_a_source_that_shrinks_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "texts"
    path.write_text("\n".join(TEXTS))
    lines = Lines(path)
    lines.__class__ = type("Long", (Lines,), {"__len__": lambda _: 300})
    with pytest.raises(InputError, match="the texts changed while they were read"):
        embed_to_dataset(lines, tmp_path / "v", model="fake", rows_per_file=100)


def test_surrogates_do_not_stop_a_run(tmp_path: Path) -> None:
    texts = ["disk \ud800 full", "\ud83c\udf89 released"]
    dataset = embed_to_dataset(texts, tmp_path, model="fake")
    assert np.array_equal(dataset.read(0, 2), fe.embed(texts, model="fake"))
