"""One of each thing that searches, and what it answers: the material for threads and forks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fastrecall import HNSW, ExactIndex, rrf
from fastrecall.graph import Graph
from fastrecall.search.bm25 import BM25

Arrays = tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Crowd:
    """Questions by name, each of which gives arrays that must never differ."""

    questions: dict[str, Callable[[], Arrays]]
    hnsw: HNSW
    vectors: np.ndarray

    def answers(self) -> dict[str, Arrays]:
        return {name: ask() for name, ask in self.questions.items()}

    def wrong(self, expected: dict[str, Arrays]) -> list[str]:
        """The questions that are answered otherwise now."""
        return [name for name in self.questions if not same(self.questions[name](), expected[name])]


def same(one: Arrays, other: Arrays) -> bool:
    return all(a.tobytes() == b.tobytes() for a, b in zip(one, other, strict=True))


def crowd(*, threads: int) -> Crowd:
    random = np.random.default_rng(21)
    vectors = random.standard_normal((700, 24)).astype(np.float32)
    queries = random.standard_normal((40, 24)).astype(np.float32)
    mask = random.random((40, 700)) < 0.5
    exact = {
        storage: ExactIndex(vectors, storage=storage, threads=threads)
        for storage in ("int8", "float16", "float32")
    }
    hnsw = HNSW(24, m=6, ef_construction=40, threads=threads)
    hnsw.add(vectors)
    graph = Graph(
        random.integers(0, 700, 3000),
        random.integers(0, 700, 3000),
        nodes=700,
        weights=random.random(3000),
        threads=threads,
    )
    seeds = random.integers(-1, 700, (60, 4))
    words = [f"word{i}" for i in range(60)] + ["parseHeader", "std::move", "死锁"]
    texts = [" ".join(random.choice(words, 12)) for _ in range(300)]
    asked = [" ".join(random.choice(words, 4)) for _ in range(70)]
    bm25 = BM25(texts, threads=threads)
    lists = [random.integers(-1, 50, (150, width)) for width in (10, 20)]

    questions: dict[str, Callable[[], Arrays]] = {
        f"search {storage}": lambda index=index: index.search(queries, 9, mask=mask)
        for storage, index in exact.items()
    }
    questions["neighbours"] = lambda: exact["int8"].knn_graph(5)
    questions["hnsw"] = lambda: hnsw.search(queries, 9, ef=40, mask=mask[0])
    for order in ("seed", "depth"):
        questions[f"walk by {order}"] = lambda order=order: graph.walk(
            seeds, depth=2, budget=30, order=order, undirected=True, exclude=seeds[:, 0]
        )
    questions["bfs"] = lambda: (graph.bfs(3, undirected=True),)
    questions["bm25"] = lambda: bm25.search(asked, 9, exclude=np.arange(70))
    questions["rrf"] = lambda: rrf(lists, threads=threads)
    return Crowd(questions, hnsw, vectors)
