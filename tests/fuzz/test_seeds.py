"""Every input that fuzzing started from, or once failed on: read without a surprise, in no time."""

from __future__ import annotations

import importlib
import time
from pathlib import Path

import pytest

import fastrecall as fr
from fastrecall.errors import InputError

SEEDS = Path(__file__).parent / "seeds"
TARGETS = sorted(path.stem for path in (Path(__file__).parent / "targets").glob("[a-z]*.py"))
MOST_BYTES = 300_000
HANG_SECONDS = 5.0


def inputs(target: str) -> list[Path]:
    return sorted((SEEDS / target).iterdir())


@pytest.mark.parametrize("target", TARGETS)
def test_inputs_are_read_or_refused_clearly(target: str) -> None:
    module = importlib.import_module(f"tests.fuzz.targets.{target}")
    for path in inputs(target):
        started = time.process_time()
        try:
            module.run(path.read_bytes())
        except Exception as error:
            raise AssertionError(f"{target}/{path.name}") from error
        assert time.process_time() - started < HANG_SECONDS, path


@pytest.mark.parametrize("path", inputs("hnsw"), ids=lambda path: path.name)
def test_index_files_answer_or_are_refused(path: Path) -> None:
    try:
        index = fr.HNSW.load(path)
    except InputError:
        return
    ids, _ = index.search([[1.0] * index.dim], 5)
    assert set(ids.ravel().tolist()) - {-1} <= set(index.ids.tolist())


def test_seeds_stay_small() -> None:
    sizes = {path: path.stat().st_size for path in SEEDS.rglob("*") if path.is_file()}
    assert sum(sizes.values()) < MOST_BYTES
    assert all(any((SEEDS / name).iterdir()) for name in (*TARGETS, "graph", "hnsw", "postings"))
