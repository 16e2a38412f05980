"""HNSW: building, searching at a recall, memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from contenders import hnsw
from harness import data
from harness.pool import Maker, Pool
from harness.results import Measurement
from rows import Opened, Settings

PARTS = 10
EFS = (*range(32, 128, 8), *range(128, 256, 16), *range(256, 513, 32))
RECALLS = (0.98, 0.995)
COMMON_EF = 128


class HnswRows:
    minutes = {"hnsw100k": 3.0}  # noqa: RUF012

    def prepare(self, settings: Settings) -> None:
        vectors, queries, _ = data.mixed_files(settings.size(100_000, 2_000))
        data.best_scores(vectors, np.load(queries), data.TOP, name="queries")

    @contextmanager
    def open(self, settings: Settings) -> Iterator[Opened]:
        count = settings.size(100_000, 2_000)
        vectors, queries, origin = data.mixed_files(count)
        asked = np.load(queries)
        best = data.best_scores(vectors, asked, data.TOP, name="queries")
        given = (vectors, queries, PARTS)
        makers = {
            "fastrecall": Maker(hnsw.Fastrecall, (*given, "float32")),
            "fastrecall int8": Maker(hnsw.Fastrecall, (*given, "int8")),
            "hnswlib": Maker(hnsw.Hnswlib, given),
            "faiss": Maker(hnsw.Faiss, given),
            "usearch": Maker(hnsw.Usearch, given),
        }
        with Pool(makers, threads=settings.threads) as pool:
            threads = max(settings.thread_counts)
            curves: dict[str, list[dict[str, float]]] = {}

            def curve(name: str) -> list[dict[str, float]]:
                """Recall by ef, up to where nobody asks for more."""
                points: list[dict[str, float]] = []
                for ef in EFS:
                    pool.ask(name, "search", ef, threads=threads)
                    found = pool.ask(name, "answers", threads=threads)
                    points.append({"ef": ef, "recall": data.recall(vectors, asked, found, best)})
                    if points[-1]["recall"] > 0.998:
                        break
                return points

            def measure(_: str) -> list[Measurement]:
                build = _build(pool, count, threads)
                for name in build.seconds:
                    if points := pool.attempt(name, partial(curve, name)):
                        curves[name] = points
                lines = [_with_recall(build, curves)]
                lines += [
                    _search(pool, curves, recall, count, one)
                    for recall in RECALLS
                    for one in settings.thread_counts
                ]
                return lines + _memory(pool, count, threads)

            yield Opened(measure, pool, {"data": f"mixtures of embeddings of {origin} texts"})


def _build(pool: Pool, count: int, threads: int) -> Measurement:
    """All indexes grow part by part, in turn."""
    seconds: dict[str, list[float]] = {name: [] for name in pool.names}
    for _ in range(PARTS):
        for name in list(seconds):
            grow = partial(pool.seconds, name, "grow", threads=threads, repeats=1, limit=300)
            if (taken := pool.attempt(name, grow)) is None:
                del seconds[name]
            else:
                seconds[name].append(taken)
    return Measurement(
        work=f"HNSW build, N = {count:,}, m {hnsw.M}, ef_construction {hnsw.EF_CONSTRUCTION}",
        goal=1.5,
        unit="s",
        threads=threads,
        seconds=seconds,
        whole=True,
    )


def _with_recall(build: Measurement, curves: dict[str, list[dict[str, float]]]) -> Measurement:
    """The build with what it is worth: recall at one ef for all, since speed alone is cheap."""
    reached = {
        name: max(point["recall"] for point in curve if point["ef"] <= COMMON_EF)
        for name, curve in curves.items()
    }
    told = ", ".join(f"{name} {recall:.4f}" for name, recall in reached.items())
    return replace(
        build,
        recall=reached,
        settings={"recall by ef": curves},
        note=f"HNSW build: all take turns in adding one of {PARTS} equal parts. Recall at ef "
        f"{COMMON_EF}: {told}.",
    )


def _search(
    pool: Pool, curves: dict[str, list[dict[str, float]]], recall: float, count: int, threads: int
) -> Measurement:
    """Everyone with the smallest ef that reaches the recall."""
    chosen: dict[str, dict[str, float]] = {}
    for name, curve in curves.items():
        if good := [point for point in curve if point["recall"] >= recall]:
            chosen[name] = good[0]
    seconds: dict[str, list[float]] = {}
    efs = sorted({int(point["ef"]) for point in chosen.values()})
    rounds = 9
    for turn in range(rounds + 1):  # one round to warm up
        for ef in efs:
            for name in [name for name, point in chosen.items() if point["ef"] == ef]:
                taken = pool.seconds(name, "search", ef, threads=threads, repeats=1, limit=60)
                if turn:
                    seconds.setdefault(name, []).append(taken)
    return Measurement(
        work=f"HNSW queries at recall@{data.TOP} ≥ {recall}, N = {count:,}",
        goal=1.5,
        unit="µs a query",
        scale=1e6 / 1000,
        threads=threads,
        seconds=seconds,
        recall={name: point["recall"] for name, point in chosen.items()},
        enough=recall,
        settings={"ef": {name: int(point["ef"]) for name, point in chosen.items()}},
        note="HNSW queries: everyone walks with the smallest `ef` that reaches the recall.",
    )


def _memory(pool: Pool, count: int, threads: int) -> list[Measurement]:
    """Megabytes, in memory and on disk, with the peers' figures beside them."""

    def figures(method: str) -> dict[str, Any]:
        return {name: round(pool.ask(name, method, threads=threads), 1) for name in pool.names}

    links = 2 * hnsw.M * 4  # bytes of a node in the lowest layer; higher layers add a sixteenth
    allowed = 1.3 * count * (4 * data.DIM + data.DIM + links) / 1e6
    lines = []
    for what, method in (("memory", "memory"), ("file", "file_size")):
        all_figures = figures(method)
        for ours, goal in (("fastrecall", allowed), ("fastrecall int8", 70e-5 * count)):
            if ours in all_figures:
                storage = "int8" if ours.endswith("int8") else "float32"
                lines.append(
                    Measurement(
                        work=f"HNSW {what}, N = {count:,}, storage {storage}",
                        kind="at most",
                        contender=ours,
                        goal=goal,
                        unit="MB",
                        threads=threads,
                        values=[all_figures[ours]],
                        settings={"all": all_figures},
                    )
                )
    return lines
