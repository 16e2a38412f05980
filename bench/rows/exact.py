"""Exact search and the kNN graph, for one number of vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from contenders import exact
from harness import data
from harness.pool import ContenderError, Maker, Pool
from harness.results import EXACT, Measurement
from rows import Opened, Settings

OURS = ("fastrecall", "fastrecall float32")
NEAR = 16
ASKED_SINGLY = 20
FLOAT32_GOAL = 1.15


@dataclass(frozen=True)
class ExactRows:
    """Rows over *count* vectors."""

    label: str
    count: int
    quick_count: int
    queries: int  # of a batch
    checked: int  # of them, for their answers
    single_goals: dict[int, float]
    batch_goal: float
    batch_threads: tuple[int, ...]
    batch_rounds: int
    minutes: dict[str, float]
    share: int = 1  # peers search neighbours of one such part of the vectors in a turn

    def prepare(self, settings: Settings) -> None:
        vectors = data.unit_file(settings.size(self.count, self.quick_count))
        self._truth(vectors, np.load(data.query_file()))

    @contextmanager
    def open(self, settings: Settings) -> Iterator[Opened]:
        vectors = data.unit_file(settings.size(self.count, self.quick_count))
        queries = data.query_file()
        truth = self._truth(vectors, np.load(queries))
        with Pool(self._makers(vectors, queries), threads=settings.threads) as pool:
            run = _Run(self, settings, pool, vectors, queries, truth)
            yield Opened(run.measure, pool)

    def _truth(self, vectors: Path, queries: np.ndarray) -> np.ndarray:
        return data.best_scores(vectors, queries[: self.checked], data.TOP, name="queries")

    def _makers(self, vectors: Path, queries: Path) -> dict[str, Maker]:
        both = (vectors, queries)
        makers = {
            "fastrecall": Maker(exact.Fastrecall, (*both, "int8")),
            "fastrecall float32": Maker(exact.Fastrecall, (*both, "float32")),
            "numpy": Maker(exact.Numpy, both),
            "numpy blocked": Maker(exact.NumpyBlocked, both),
            "faiss": Maker(exact.Faiss, both),
            "scann": Maker(exact.Scann, both),
            "hnswlib": Maker(exact.Hnswlib, both),
        }
        if self.count < 1_000_000:  # each would hold another 1.5 GB, and has been far behind
            makers["faiss BLAS"] = Maker(exact.FaissBlas, both)
            makers["usearch"] = Maker(exact.Usearch, both)
            makers["torch"] = Maker(exact.Torch, both)
        return makers


@dataclass
class _Run:
    rows: ExactRows
    settings: Settings
    pool: Pool
    vectors: Path
    queries: Path
    truth: np.ndarray

    def __post_init__(self) -> None:
        self.count = len(np.load(self.vectors, mmap_mode="r"))
        self.asked = np.load(self.queries)

    def measure(self, row: str) -> list[Measurement]:
        kind = row.removesuffix(self.rows.label)
        return {"exact": self._single, "batch": self._batch, "knn": self._neighbours}[kind]()

    def _single(self) -> list[Measurement]:
        measured = []
        best = self.truth[:ASKED_SINGLY]
        for threads in self.settings.thread_counts:
            peers = ["numpy", "faiss", "scann", "hnswlib", "usearch", "torch"]
            seconds = self.pool.turns(
                "single", threads=threads, names=[*OURS, *peers], keep=OURS, rounds=9, budget=4
            )
            found = {
                name: self._ask(name, "single_answers", ASKED_SINGLY, threads=threads)
                for name in seconds
            }
            measured += self._lines(
                f"one query, N = {self.count:,}",
                seconds,
                self._recalls(found, best),
                goal=self.rows.single_goals[threads],
                threads=threads,
                queries=1,
            )
        return measured

    def _batch(self) -> list[Measurement]:
        measured = []
        # faiss takes its BLAS path by itself from 334 queries of 384 dimensions on.
        peers = ["faiss", "scann", "numpy blocked"]
        if self.rows.queries < 334:
            peers += ["faiss BLAS", "numpy", "torch"]
        for threads in self.settings.thread_counts:
            if threads not in self.rows.batch_threads:
                continue
            seconds = self.pool.turns(
                "batch",
                self.rows.queries,
                threads=threads,
                names=[*OURS, *peers],
                keep=OURS,
                rounds=self.rows.batch_rounds,
                budget=20,
                slow=1.4,  # the best peer is one of two or three: no time for the others
            )
            found = {name: self._ask(name, "answers", threads=threads) for name in seconds}
            measured += self._lines(
                f"{self.rows.queries:,} queries, N = {self.count:,}",
                seconds,
                self._recalls(found, self.truth[: self.rows.queries]),
                goal=self.rows.batch_goal,
                threads=threads,
                queries=self.rows.queries,
            )
        return measured

    def _neighbours(self) -> list[Measurement]:
        threads, share = max(self.settings.thread_counts), self.rows.share
        seconds = self.pool.turns(
            "neighbours",
            NEAR,
            share,
            threads=threads,
            names=["fastrecall", "faiss", "scann"],
            keep=["fastrecall"],
            rounds=3,
            budget=40,
            slow=10.0,  # ours does the whole graph in a turn, and peers a share of it
        )
        seconds = {
            name: times if name in OURS else [share * one for one in times]
            for name, times in seconds.items()
        }
        recalls = {}
        for name in seconds:
            rows, ids = self._ask(name, "neighbour_answers", 100, threads=threads)
            some = np.load(self.vectors, mmap_mode="r")[rows]
            label = f"rows-{rows[0]}-{rows[-1]}"  # the first of the best is the row itself
            best = data.best_scores(self.vectors, some, NEAR + 1, name=label)[:, 1:]
            recalls[name] = data.recall(self.vectors, some, ids, best)
        note = ""
        if share > 1:
            note = (
                f"{NEAR}-NN graph of {self.count:,}: in a turn a peer searches the neighbours of "
                f"one {share}th of the vectors, and its time is multiplied by {share}; fastrecall "
                "computes the whole graph."
            )
        return [
            Measurement(
                work=f"{NEAR}-NN graph, N = {self.count:,}",
                goal=3.0,
                unit="s",
                threads=threads,
                seconds=seconds,
                recall=recalls,
                enough=EXACT,
                # each pair once: half of the 2 N^2 d operations of a search
                bound={"int8": 1.0 * self.count**2 * data.DIM},
                note=note,
            )
        ]

    def _ask(self, name: str, method: str, *arguments: Any, threads: int) -> Any:
        try:
            return self.pool.ask(name, method, *arguments, threads=threads)
        except ContenderError as failure:
            raise RuntimeError(f"{name} gave times and no answers: {failure}") from failure

    def _recalls(self, found: dict[str, np.ndarray], best: np.ndarray) -> dict[str, float]:
        count = len(best)
        return {
            name: data.recall(self.vectors, self.asked[:count], ids[:count], best)
            for name, ids in found.items()
        }

    def _lines(
        self,
        work: str,
        seconds: dict[str, list[float]],
        recalls: dict[str, float],
        *,
        goal: float,
        threads: int,
        queries: int,
    ) -> Sequence[Measurement]:
        """One line for int8 codes, and one for the float32 path beside the same peers."""
        products = 2.0 * self.count * data.DIM * queries
        read = float(self.count * data.DIM)
        bounds = {
            "fastrecall": {"int8": products, "bytes": read},
            "fastrecall float32": {"fp32": products, "bytes": 4 * read},
        }
        return [
            Measurement(
                work=work,
                contender=ours,
                goal=goal if ours == "fastrecall" else FLOAT32_GOAL,
                unit="µs a query",
                scale=1e6 / queries,
                threads=threads,
                seconds=seconds,
                recall=recalls,
                enough=EXACT,
                bound=bounds[ours],
            )
            for ours in OURS
        ]


SMALL = ExactRows(
    label="19k",
    count=19_000,
    quick_count=2_000,
    queries=293,
    checked=293,
    single_goals={1: 2.5, 2: 2.5},
    batch_goal=2.0,
    batch_threads=(1, 2),
    batch_rounds=9,
    minutes={"exact19k": 0.4, "batch19k": 0.3, "knn19k": 0.4},
)
MEDIUM = ExactRows(
    label="100k",
    count=100_000,
    quick_count=4_000,
    queries=1000,
    checked=300,
    single_goals={1: 2.5, 2: 2.5},
    batch_goal=1.7,
    batch_threads=(2,),
    batch_rounds=7,
    minutes={"exact100k": 0.5, "batch100k": 0.5, "knn100k": 1.2},
    share=10,
)
LARGE = ExactRows(
    label="1M",
    count=1_000_000,
    quick_count=8_000,
    queries=1000,
    checked=100,
    single_goals={1: 2.5, 2: 4.0},
    batch_goal=1.7,
    batch_threads=(2,),
    batch_rounds=3,
    minutes={"exact1M": 1.2, "batch1M": 1.5},
)
