"""A million vectors and a million texts on two threads, each job within 4 GB."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness import BUILD, ROOT, data
from harness.results import EXACT, Measurement
from rows import Opened, Settings

LIMIT = 4_000_000_000  # bytes that a job may allocate
QUERIES, CHECKED, TOP, NEAR = 293, 20, 100, 16
ROUNDS = 3
RECALL = 0.98  # that HNSW queries are timed at


@dataclass(frozen=True)
class BigRow:
    """One row over *count* vectors and texts; caps are for the full size."""

    label: str
    count: int
    quick_count: int
    minutes: dict[str, float]

    def prepare(self, settings: Settings) -> None:
        count = settings.size(self.count, self.quick_count)
        vectors, queries, _ = data.mixed_files(count)
        asked = np.load(queries)[:QUERIES]
        data.best_scores(vectors, asked[:CHECKED], TOP, name="mixed-queries")
        data.text_folder(count)
        data.ticket_folder(count)

    @contextmanager
    def open(self, settings: Settings) -> Iterator[Opened]:
        opened = Opened(lambda _: [])
        run = _Run(settings, settings.size(self.count, self.quick_count), opened.extra)
        opened.measure = lambda _: run.measure()
        yield opened


class _Run:
    def __init__(self, settings: Settings, count: int, extra: dict[str, Any]) -> None:
        self.threads, self.count, self.extra = max(settings.thread_counts), count, extra
        self.vectors, self.queries, _ = data.mixed_files(count)
        self.texts = data.text_folder(count)[0]
        self.tickets = data.ticket_folder(count)
        self.work = BUILD / "big" / str(count)
        self.work.mkdir(parents=True, exist_ok=True)
        self.peaks: dict[str, list[int]] = {}

    def measure(self) -> list[Measurement]:
        measured = [*self._exact(), *self._neighbours(), *self._words(), *self._hnsw()]
        measured += self._evaluation()
        for work, peaks in self.peaks.items():
            gigabytes = [peak / 1e9 for peak in peaks]
            measured.append(self._line(f"{work}, most memory resident", "GB", 4.0, gigabytes))
        self.extra["big"] = {"limit": LIMIT, "texts bytes": (self.texts / "texts").stat().st_size}
        return measured

    def _exact(self) -> list[Measurement]:
        work = f"top {TOP} of {QUERIES} queries over {self.count:,} vectors in a file"
        cold = [self._job(work, "exact", "--cold")["seconds"] for _ in range(ROUNDS)]
        warm = [self._job(work, "exact")["seconds"] for _ in range(ROUNDS)]
        asked = np.load(self.queries)[:CHECKED]
        best = data.best_scores(self.vectors, asked, TOP, name="mixed-queries")
        found = np.load(self.work / "exact.npz")
        right = _same_scores(found["scores"][:CHECKED], best)
        recall = right * data.recall(self.vectors, asked, found["ids"][:CHECKED], best)
        return [
            self._line(f"{work}, not cached", "s", 12.0, cold, recall=recall, enough=EXACT),
            self._line(f"{work}, cached", "s", 6.0, warm, recall=recall, enough=EXACT),
        ]

    def _neighbours(self) -> list[Measurement]:
        work = f"{NEAR} nearest others over {self.count:,} vectors in a file"
        told = self._job(work, "knn")
        some = np.load(self.vectors, mmap_mode="r")[:CHECKED]
        best = data.best_scores(self.vectors, some, NEAR + 1, name="first-rows")[:, 1:]
        ids = np.load(self.work / "knn.npz")["ids"][:CHECKED]
        recall = data.recall(self.vectors, some, ids, best)
        work = f"{work}, of {told['rows']:,} of them"
        return [self._line(work, "s", 90.0, [told["seconds"]], recall=recall, enough=EXACT)]

    def _words(self) -> list[Measurement]:
        work = f"BM25 over {self.count:,} texts in a file"
        for file in (self.work / "words").glob("postings-*"):
            file.unlink()
        counted = self._job(f"{work}, counting", "count")
        asked = [self._job(f"{work}, {QUERIES} questions", "words") for _ in range(ROUNDS)]
        self._job("", "whole_words", "--limit", "0")
        one, other = (np.load(self.work / f"{name}.npz") for name in ("words", "whole_words"))
        same = [np.array_equal(one["ids"], other["ids"])]
        same += [np.array_equal(one["scores"], other["scores"], equal_nan=True)]
        right = float(all(same))
        return [
            self._line(f"{work}, counting", "s", 180.0, [counted["seconds"]]),
            self._line(
                f"{work}, {QUERIES} questions, counted before",
                "s",
                5.0,
                [one["seconds"] for one in asked],
                recall=right,
                enough=1.0,
            ),
        ]

    def _evaluation(self) -> list[Measurement]:
        work = f"eval of {QUERIES} pairs on {self.count:,} tickets and vectors in files"
        less = ("--memory", "1GB")
        stored = self._job(f"dataset of {self.count:,} tickets", "store", *less)
        shutil.rmtree(self.work / "cache", ignore_errors=True)
        first = self._job(f"{work}, first", "evaluate", *less)
        again = self._job(f"{work}, words counted before", "evaluate", *less)
        self._job("", "evaluate", "--limit", "0", "--memory", "0")
        one, other = (
            json.loads((self.work / f"{name}.json").read_text("utf-8"))
            for name in ("record", "whole_record")
        )
        del one["timings"], other["timings"]
        right = float(one == other)
        self.extra["evaluation"] = {"dataset bytes": stored["bytes"], "first": first["timings"]}
        return [
            self._line(f"dataset of {self.count:,} tickets", "s", 300.0, [stored["seconds"]]),
            self._line(f"{work}, first", "s", 300.0, [first["seconds"]], recall=right, enough=1.0),
            self._line(
                f"{work}, words counted before",
                "s",
                180.0,
                [again["seconds"]],
                recall=right,
                enough=1.0,
            ),
        ]

    def _hnsw(self) -> list[Measurement]:
        work = f"HNSW over {self.count:,} vectors, float16"
        built = self._job(f"{work}, build and save", "build")
        runs = [self._job(f"{work}, open and search", "hnsw") for _ in range(ROUNDS)]
        exact = np.load(self.work / "exact.npz")["ids"][:, :10]
        found = np.load(self.work / "hnsw.npz")
        recalls = {int(ef): _shared(found[ef], exact) for ef in found.files}
        self.extra["hnsw"] = {"recall@10 by ef": recalls, "bytes": runs[0]["bytes"]}
        ef = min((ef for ef in recalls if recalls[ef] >= RECALL), default=max(recalls))
        times = [
            1e6 * search["seconds"] / QUERIES
            for run in runs
            for search in run["searches"]
            if search["ef"] == ef
        ]
        opening = [1e3 * run["open_seconds"] for run in runs]
        search = f"{work}, a query of {QUERIES} at recall@10 ≥ {RECALL} (ef {ef})"
        return [
            self._line(f"{work}, build", "s", 240.0, [built["seconds"]]),
            self._line(f"{work}, save", "s", 5.0, [built["save_seconds"]]),
            self._line(f"{work}, open by memory map", "ms", 200.0, opening),
            self._line(search, "µs", 600.0, times, recall=recalls[ef], enough=RECALL),
        ]

    def _job(self, work: str, job: str, *options: str) -> dict[str, Any]:
        """Run a job of `bench/big.py`; remembers what it held at most."""
        command = [sys.executable, str(ROOT / "bench" / "big.py"), job]
        command += ["--vectors", str(self.vectors), "--queries", str(self.queries)]
        command += ["--texts", str(self.texts), "--tickets", str(self.tickets)]
        command += ["--work", str(self.work)]
        command += ["--threads", str(self.threads), "--limit", str(LIMIT), *options]
        done = subprocess.run(command, cwd=ROOT / "bench", capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)} failed: {done.stderr[-800:]}")
        told = dict(json.loads(done.stdout))
        if work:
            self.peaks.setdefault(work, []).append(told["peak"])
        return told

    def _line(
        self,
        work: str,
        unit: str,
        goal: float,
        values: list[float],
        recall: float | None = None,
        enough: float = 0.0,
    ) -> Measurement:
        return Measurement(
            work=work,
            kind="at most",
            goal=goal,
            unit=unit,
            threads=self.threads,
            values=values,
            recall={} if recall is None else {"fastrecall": recall},
            enough=enough,
            note=(
                f"{self.count:,} vectors and texts: every job is a process of its own that "
                f"may allocate {LIMIT / 1e9:.0f} GB; answers are those of float64 "
                "products in NumPy, and of a BM25 that holds all texts."
            ),
        )


def _shared(found: np.ndarray, exact: np.ndarray) -> float:
    """Which share of the exact ids was found."""
    rows = zip(found, exact, strict=True)
    return sum(len(np.intersect1d(one, other)) for one, other in rows) / exact.size


def _same_scores(scores: np.ndarray, best: np.ndarray) -> bool:
    return bool(np.allclose(scores, best, rtol=0, atol=data.TIE))


BIG = BigRow("big1M", 1_000_000, 20_000, {"big1M": 15})
