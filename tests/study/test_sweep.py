"""Sweeps: what is made again, and what is called behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fastrecall.study import Record
from fastrecall.study import sweep as module
from fastrecall.study.sweep import Point, parse_grid, rank_points, sweep
from fastrecall.types import Corpus

FAKE: dict[str, Any] = {"model": "fake", "cache": False, "arms": ["semantic", "causal"]}


@pytest.fixture
def corpus(random_corpus: Callable[[int, int], Corpus]) -> Corpus:
    return random_corpus(100, 4)


def test_another_version_meets_no_old_record(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = parse_grid(["budget=2,8"])
    known = list(sweep(corpus, points, tmp_path, **FAKE))
    assert [dict(r) for _, r in sweep(corpus, points, tmp_path, **FAKE)] == [
        dict(record) for _, record in known
    ]
    assert len(list(tmp_path.iterdir())) == 2
    monkeypatch.setattr(module, "versions", lambda: {"fastrecall": "another"})
    list(sweep(corpus, points, tmp_path, **FAKE))
    assert len(list(tmp_path.iterdir())) == 4


def test_another_state_of_a_models_folder_meets_no_old_record(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [point] = parse_grid(["budget=2"])
    list(sweep(corpus, [point], tmp_path, **FAKE))
    resolve = module.resolve_model

    def changed(*args: Any, **options: Any) -> Any:
        return replace(resolve(*args, **options), sha256="0" * 64)

    monkeypatch.setattr(module, "resolve_model", changed)
    list(sweep(corpus, [point], tmp_path, **FAKE))
    assert len(list(tmp_path.iterdir())) == 2


def test_the_best_is_marked_only_where_all_others_are_behind(
    corpus: Corpus, tmp_path: Path
) -> None:
    results = list(sweep(corpus, parse_grid(["budget=1,2,90"]), tmp_path, **FAKE))
    rows = rank_points(results, protocol="leave-one-out", arm="semantic")
    assert rows[0]["point"] == "budget=90"
    assert rows[0]["best"]
    assert [row["behind"] for row in rows] == [None, True, True]
    near = rank_points(results[:2], protocol="leave-one-out", arm="semantic")
    assert not near[0]["best"]
    assert near[1]["behind"] is False


def equals(settings: int, pairs: int, rng: np.random.Generator) -> list[tuple[Point, Record]]:
    """Records of settings that are equally good, and differ by chance alone."""
    results = []
    for place in range(settings):
        found = rng.random(pairs) < 0.5
        hits = int(found.sum())
        arm = {
            "title": "causal",
            "hits": hits,
            "pairs": pairs,
            "rate": hits / pairs,
            "wilson95": [0.0, 1.0],
            "mrr": 0.5,
            "mean_output": 32.0,
        }
        rows = [
            {
                "repo": "",
                "issue": n,
                "pr": n,
                "ranks": {"published": {"causal": 1 if hit else None}},
            }
            for n, hit in enumerate(found.tolist())
        ]
        corpus = {"fingerprint": "", "gold_fingerprint": ""}
        protocols = {"published": {"arms": {"causal": arm}}}
        record = Record(
            {
                "corpus": corpus | {"name": ""},
                "settings": {},
                "model": {"id": ""},
                "protocols": protocols,
                "queries": rows,
            }
        )
        results.append((Point({"budget": str(place)}, {}), record))
    return results


def test_settings_that_differ_by_chance_are_seldom_called_behind() -> None:
    """Although the best one was chosen by its luck: one world in twenty may go wrong."""
    rng = np.random.default_rng(1)
    wrong = sum(
        any(
            row["behind"]
            for row in rank_points(equals(15, 300, rng), protocol="published", arm="causal")
        )
        for _ in range(60)
    )
    assert wrong <= 6
