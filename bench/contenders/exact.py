"""Exact search: the 32 best of all vectors, and the nearest neighbours of every vector."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from harness.data import DIM, TOP


class Exact:
    """Common ground: the data, and batches of queries.

    `batch` asks for the first *count* queries in one call, `single` for one query that is another
    each time, `answers` returns what the last `batch` found.
    """

    def __init__(self, vectors: Path, queries: Path) -> None:
        self.vectors = np.load(vectors, mmap_mode="r")
        self.queries = np.load(queries)
        self.threads = 1
        self.turn = 0
        self.found = np.empty((0, TOP), np.int64)
        self.build(self.vectors)

    def build(self, vectors: np.ndarray) -> None:
        raise NotImplementedError

    def search(self, queries: np.ndarray, top: int) -> np.ndarray:
        raise NotImplementedError

    def set_threads(self, threads: int) -> None:
        self.threads = threads

    def batch(self, count: int) -> None:
        self.found = self.search(self.queries[:count], TOP)

    def single(self) -> None:
        self.search(self.queries[self.turn : self.turn + 1], TOP)
        self.turn = (self.turn + 1) % len(self.queries)

    def answers(self) -> np.ndarray:
        return np.asarray(self.found)

    def single_answers(self, count: int) -> np.ndarray:
        """The answers of *count* queries that are asked one by one."""
        return np.vstack([self.search(self.queries[i : i + 1], TOP) for i in range(count)])

    def neighbours(self, near: int, share: int) -> None:
        """Find the *near* neighbours of one *share*-th of all vectors, another one each time.

        A peer looks for one more, since a vector's nearest is itself.
        """
        size = -(-len(self.vectors) // share)
        self.first = self.turn % share * size
        self.turn += 1
        some = np.ascontiguousarray(self.vectors[self.first : self.first + size])
        self.found = self.search(some, near + 1)

    def neighbour_answers(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Some rows of the last `neighbours` and what was found for them, themselves left out."""
        rows = np.linspace(0, len(self.found) - 1, count).astype(np.int64)
        found = np.asarray(self.found)[rows]
        rows += self.first
        others = np.empty((len(rows), found.shape[1] - 1), np.int64)
        for place, (row, ids) in enumerate(zip(rows, found, strict=True)):
            others[place] = np.concatenate([ids[ids != row], ids[-1:]])[: others.shape[1]]
        return rows, others


class Fastrecall(Exact):
    def __init__(self, vectors: Path, queries: Path, storage: str) -> None:
        self.storage = storage
        super().__init__(vectors, queries)

    def build(self, vectors: np.ndarray) -> None:
        import harness  # noqa: F401  (finds the package in a checkout)
        from fastrecall.search.exact import ExactIndex

        self.index = ExactIndex(vectors, storage=self.storage)  # type: ignore[arg-type]

    def set_threads(self, threads: int) -> None:
        self.index.threads = threads

    def search(self, queries: np.ndarray, top: int) -> np.ndarray:
        return self.index.search(queries, top)[0]

    def neighbours(self, near: int, share: int = 1) -> None:
        """Always of all vectors: every pair is looked at once, for both of its ends."""
        self.first = 0
        self.found = self.index.knn_graph(near)[0]

    def neighbour_answers(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        rows = np.linspace(0, len(self.found) - 1, count).astype(np.int64)
        return rows, self.found[rows]


def _best(scores: np.ndarray, top: int) -> np.ndarray:
    some = np.argpartition(scores, scores.shape[1] - top, axis=1)[:, -top:]
    order = np.argsort(-np.take_along_axis(scores, some, 1), axis=1)
    return np.take_along_axis(some, order, 1)


class Numpy(Exact):
    """One product of matrices, then the best of each row; at most 1 GiB of scores at once."""

    def build(self, vectors: np.ndarray) -> None:
        self.rows = vectors.view(np.ndarray)
        self.rows.sum()  # read the file once

    def search(self, queries: np.ndarray, top: int) -> np.ndarray:
        step = max(1, (1 << 28) // len(self.rows))
        blocks = [queries[start : start + step] for start in range(0, len(queries), step)]
        return np.vstack([_best(block @ self.rows.T, top) for block in blocks])


class NumpyBlocked(Numpy):
    """The same over 8,192 rows at a time, so that scores stay in a cache."""

    def search(self, queries: np.ndarray, top: int) -> np.ndarray:
        scores, ids = [], []
        for start in range(0, len(self.rows), 8192):
            block = queries @ self.rows[start : start + 8192].T
            some = np.argpartition(block, max(0, block.shape[1] - top), axis=1)[:, -top:]
            scores.append(np.take_along_axis(block, some, 1))
            ids.append(some + start)
        best = _best(np.hstack(scores), top)
        return np.take_along_axis(np.hstack(ids), best, 1)


class Faiss(Exact):
    """`IndexFlatIP` as it comes: it leaves its BLAS path when queries x dimensions < 128,000."""

    def build(self, vectors: np.ndarray) -> None:
        import faiss

        self.library = faiss
        self.index = faiss.IndexFlatIP(DIM)
        for start in range(0, len(vectors), 100_000):  # a copy less at a time
            self.index.add(np.ascontiguousarray(vectors[start : start + 100_000]))

    def set_threads(self, threads: int) -> None:
        self.library.omp_set_num_threads(threads)

    def search(self, queries: np.ndarray, top: int) -> np.ndarray:
        return self.index.search(queries, top)[1]


class FaissBlas(Faiss):
    """The same with its BLAS path forced."""

    def build(self, vectors: np.ndarray) -> None:
        super().build(vectors)
        self.library.cvar.distance_compute_blas_threshold = 1


class Scann(Exact):
    """Brute force; a single query runs on one thread by construction."""

    def build(self, vectors: np.ndarray) -> None:
        import scann

        builder = scann.scann_ops_pybind.builder(np.asarray(vectors), TOP, "dot_product")
        self.index = builder.score_brute_force().build()

    def set_threads(self, threads: int) -> None:
        super().set_threads(threads)
        self.index.set_num_threads(threads)

    def search(self, queries: np.ndarray, top: int) -> np.ndarray:
        parallel = self.threads > 1 and len(queries) > 1
        run = self.index.search_batched_parallel if parallel else self.index.search_batched
        return run(queries, final_num_neighbors=top)[0].astype(np.int64)


class Hnswlib(Exact):
    """`BFIndex`; parallel over queries only."""

    def build(self, vectors: np.ndarray) -> None:
        import hnswlib

        self.index = hnswlib.BFIndex("ip", DIM)
        self.index.init_index(len(vectors))
        self.index.add_items(vectors)

    def set_threads(self, threads: int) -> None:
        self.index.set_num_threads(threads)

    def search(self, queries: np.ndarray, top: int) -> np.ndarray:
        return self.index.knn_query(queries, top)[0].astype(np.int64)


class Usearch(Exact):
    """`search(exact=True)`."""

    def build(self, vectors: np.ndarray) -> None:
        from usearch.index import MetricKind, search

        self.run, self.metric = search, MetricKind.IP
        self.rows = vectors.view(np.ndarray)

    def search(self, queries: np.ndarray, top: int) -> np.ndarray:
        found = self.run(self.rows, queries, top, self.metric, exact=True, threads=self.threads)
        return found.keys.reshape(len(queries), -1).astype(np.int64)


class Torch(Exact):
    """`mm` and `topk`."""

    def build(self, vectors: np.ndarray) -> None:
        import torch

        self.library = torch
        self.rows = torch.from_numpy(np.array(vectors))

    def set_threads(self, threads: int) -> None:
        self.library.set_num_threads(threads)

    def search(self, queries: np.ndarray, top: int) -> np.ndarray:
        step = max(1, (1 << 28) // len(self.rows))
        found = [
            self.library.topk(
                self.library.from_numpy(queries[start : start + step]) @ self.rows.T, top
            )
            for start in range(0, len(queries), step)
        ]
        return np.vstack([some[1].numpy() for some in found])
