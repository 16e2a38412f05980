"""Whatever records come in whatever order, a dataset keeps what the window keeps."""

from __future__ import annotations

import json
import random
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fastrecall.corpus import load_corpus, window, write_dataset
from fastrecall.corpus.dataset import choice, keys
from fastrecall.errors import CorpusError
from fastrecall.types import Ticket

BASE = 1_600_000_000


def moment(seconds: int) -> int:
    return BASE + seconds


def random_records(rng: random.Random, repos: tuple[str, ...], size: int) -> list[dict[str, Any]]:
    """Records full of repetitions, PRs among the issues, bots and shared numbers."""
    records = []
    for _ in range(size):
        number = rng.randrange(1, size // 2 + 2)
        repo = rng.choice(repos)
        kind = rng.choice(("issue", "pr"))
        # Mostly the time is that of the number: other ones are an issue and a PR that share it.
        odd = kind == "issue" and number % 7 == 0
        records.append(
            {
                "kind": kind,
                **({"repo": repo} if repo else {}),
                "number": number,
                "title": rng.choice(("Crash", "Slow", "  ", "Wrong \ud800")),
                "body": rng.choice((None, "Fixes #3", "x")),
                "createdAt": moment(number % 5 * 100 + odd),
                **({"updatedAt": moment(rng.randrange(9))} if rng.random() < 0.7 else {}),
                "author": {"login": rng.choice(("ann", "app/renovate", "ydbot"))},
                **({"closes": [{"number": 3}]} if rng.random() < 0.2 else {}),
            }
        )
    return records


def assert_same(source: Path, folder: Path, **options: Any) -> None:
    known = load_corpus(source, **options)
    written = write_dataset(source, folder, **options)
    assert list(written.tickets) == list(known.tickets)
    assert written.cut == known.cut
    assert written.notes == known.notes
    assert written.fingerprint == known.fingerprint
    columns = written.columns
    assert columns.repos == known.repos
    assert columns.codes.tolist() == known.columns.codes.tolist()
    assert columns.created_at.tolist() == known.created_at.tolist()
    assert columns.untitled.tolist() == known.columns.untitled.tolist()
    assert columns.tells_closes == known.columns.tells_closes


@pytest.mark.parametrize("repos", [("o/r",), ("",), ("", "o/r"), ("b/b", "a/a"), ("", "b", "a")])
@pytest.mark.parametrize("limits", [(None, None), (4, 7), (0, 3), (15, None)])
def test_a_dataset_keeps_what_the_window_keeps(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    repos: tuple[str, ...],
    limits: tuple[int | None, int | None],
) -> None:
    # Small enough that the window lets tickets go while it still reads.
    monkeypatch.setattr(window, "SPARE", 2)
    monkeypatch.setattr(choice, "SPARE", 2)
    prs, issues = limits
    for seed in range(12):
        rng = random.Random(f"{seed} {repos}")
        source = tmp_path / f"{seed}.jsonl"
        lines = (json.dumps(one) + "\n" for one in random_records(rng, repos, 20 + 15 * seed))
        source.write_text("".join(lines))
        assert_same(source, tmp_path / "set", window_prs=prs, window_issues=issues)


@pytest.mark.parametrize(
    ("numbers", "record"), [([1, 2, 66, 2, 1], 4), ([2, 66, 66, 2], 3)], ids=str
)
def test_the_first_number_with_another_time_is_told(
    tmp_path: Path, numbers: list[int], record: int
) -> None:
    source = tmp_path / "mixed.jsonl"
    records = [
        {"kind": "issue", "number": number, "title": "x", "createdAt": moment(at)}
        for at, number in enumerate(numbers)
    ]
    source.write_text("".join(json.dumps(one) + "\n" for one in records))
    with pytest.raises(CorpusError) as known:
        load_corpus(source)
    with pytest.raises(CorpusError) as told:
        write_dataset(source, tmp_path / "set")
    assert str(told.value) == str(known.value)
    assert f"record {record}: number {numbers[record - 1]}" in str(told.value)
    assert not list((tmp_path / "set").glob("*.parquet"))


@pytest.mark.parametrize("times", [1, 2])
def test_choosing_takes_as_much_memory_as_is_told(tmp_path: Path, times: int) -> None:
    """Whether tickets come once or, as in exports that overlap, again and again."""
    tickets = 20_000
    files = keys.KeyFiles(tmp_path / "keys")
    one = Ticket("o/r", "issue", 1, "Crash", "", 0)
    for record in range(times * tickets):
        number = record % tickets + 1
        files.add(record, replace(one, number=number, created_at=number), -1, mechanical=False)
    files.flush()
    tracemalloc.start()
    try:
        kept = choice.choose(files, prs=None, issues=None)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(kept.records) == tickets
    assert peak < 100 * tickets
