"""One breadth-first search of a large graph, and 300 short walks on a small one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from contenders import graph
from harness import data
from harness.pool import Maker, Pool
from harness.results import Measurement
from rows import Opened, Settings

DEPTH = 3


class BfsRow:
    minutes = {"bfs": 0.6}  # noqa: RUF012

    def prepare(self, settings: Settings) -> None:
        """Nothing takes long here."""

    @contextmanager
    def open(self, settings: Settings) -> Iterator[Opened]:
        nodes = settings.size(1_000_000, 20_000)
        given = (data.random_edges(nodes, 5 * nodes, 1), nodes, np.zeros((1, 1), np.int32), DEPTH)
        makers = {
            "fastrecall": Maker(graph.Fastrecall, given),
            "scipy": Maker(graph.Scipy, given),
            "igraph": Maker(graph.Igraph, given),
            "igraph distances": Maker(graph.IgraphDistances, given),
            "numpy": Maker(graph.NumpyFrontiers, given),
        }
        with Pool(makers, threads=settings.threads) as pool:

            def measure(_: str) -> list[Measurement]:
                seconds = pool.turns("bfs", threads=1, keep=["fastrecall"], rounds=9, budget=6)
                depths = {name: pool.ask(name, "bfs_answer", threads=1) for name in seconds}
                truth = depths["numpy"]
                return [
                    Measurement(
                        work=f"full breadth-first search, {nodes:,} nodes, {5 * nodes:,} edges",
                        goal=4.0,
                        unit="ms",
                        scale=1e3,
                        seconds=seconds,
                        recall={
                            name: float((found == truth).mean()) for name, found in depths.items()
                        },
                        enough=1.0,
                    )
                ]

            yield Opened(measure, pool)


class WalkRow:
    minutes = {"walks": 0.2}  # noqa: RUF012

    def prepare(self, settings: Settings) -> None:
        """Nothing takes long here."""

    @contextmanager
    def open(self, settings: Settings) -> Iterator[Opened]:
        nodes, queries = settings.size(20_000, 2_000), 300
        random = np.random.default_rng(3)
        seeds = np.stack([random.choice(nodes, 8, replace=False) for _ in range(queries)])
        given = (data.random_edges(nodes, 5 * nodes, 2), nodes, seeds.astype(np.int32), DEPTH)
        makers = {
            "fastrecall": Maker(graph.Fastrecall, given),
            "igraph": Maker(graph.Igraph, given),
            "numpy": Maker(graph.NumpyFrontiers, given),
        }
        with Pool(makers, threads=settings.threads) as pool:

            def measure(_: str) -> list[Measurement]:
                lines = []
                for threads in settings.thread_counts:
                    seconds = pool.turns(
                        "walks", threads=threads, keep=["fastrecall"], rounds=15, budget=4
                    )
                    reached = {
                        name: pool.ask(name, "walk_answers", threads=threads) for name in seconds
                    }
                    truth = reached["numpy"]
                    lines.append(
                        Measurement(
                            work=f"{queries} walks of 8 seeds, depth {DEPTH}, {nodes:,} nodes",
                            goal=25.0,
                            unit="ms",
                            scale=1e3,
                            threads=threads,
                            seconds=seconds,
                            recall={
                                name: float(np.mean(list(map(np.array_equal, found, truth))))
                                for name, found in reached.items()
                            },
                            enough=1.0,
                        )
                    )
                return lines

            yield Opened(measure, pool)
