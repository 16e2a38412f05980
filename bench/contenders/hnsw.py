"""Hierarchies of small-world graphs: m 16, ef_construction 200, inner product."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from harness.data import DIM, TOP

M, EF_CONSTRUCTION = 16, 200


class Hnsw:
    """Common ground: vectors are added in equal parts, so that builds can take turns."""

    def __init__(self, vectors: Path, queries: Path, parts: int) -> None:
        self.vectors, self.queries = np.load(vectors), np.load(queries)
        self.parts, self.part = parts, 0
        self.threads = 1
        self.found = np.empty((0, TOP), np.int64)
        self.before = _resident()
        self.create()

    def create(self) -> None:
        raise NotImplementedError

    def add(self, vectors: np.ndarray, first: int) -> None:
        raise NotImplementedError

    def find(self, queries: np.ndarray, ef: int) -> np.ndarray:
        raise NotImplementedError

    def write(self, path: Path) -> None:
        raise NotImplementedError

    def set_threads(self, threads: int) -> None:
        self.threads = threads

    def grow(self) -> None:
        """Add the next part."""
        size = -(-len(self.vectors) // self.parts)
        first = self.part * size
        self.add(self.vectors[first : first + size], first)
        self.part += 1

    def search(self, ef: int) -> None:
        """Ask all queries in one call."""
        self.found = self.find(self.queries, ef)

    def answers(self) -> np.ndarray:
        return np.asarray(self.found)

    def memory(self) -> float:
        """Megabytes: what the process has grown by since before the index, or what it says."""
        return _resident() - self.before

    def file_size(self) -> float:
        """Megabytes of the saved index."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "index"
            self.write(path)
            return path.stat().st_size / 1e6


class Fastrecall(Hnsw):
    def __init__(self, vectors: Path, queries: Path, parts: int, storage: str) -> None:
        self.storage = storage
        super().__init__(vectors, queries, parts)

    def create(self) -> None:
        import harness  # noqa: F401  (finds the package in a checkout)
        from fastrecall.search.hnsw import HNSW

        self.index = HNSW(
            DIM,
            m=M,
            ef_construction=EF_CONSTRUCTION,
            storage=self.storage,  # type: ignore[arg-type]
        )

    def set_threads(self, threads: int) -> None:
        self.index.threads = threads

    def add(self, vectors: np.ndarray, first: int) -> None:
        self.index.add(vectors)

    def find(self, queries: np.ndarray, ef: int) -> np.ndarray:
        return self.index.search(queries, TOP, ef=ef)[0]

    def write(self, path: Path) -> None:
        self.index.save(path)

    def memory(self) -> float:
        return self.index.nbytes / 1e6


class Hnswlib(Hnsw):
    def create(self) -> None:
        import hnswlib

        self.index = hnswlib.Index("ip", DIM)
        self.index.init_index(
            len(self.vectors), M=M, ef_construction=EF_CONSTRUCTION, random_seed=1
        )

    def add(self, vectors: np.ndarray, first: int) -> None:
        self.index.add_items(vectors, num_threads=self.threads)

    def find(self, queries: np.ndarray, ef: int) -> np.ndarray:
        self.index.set_ef(max(ef, TOP))
        return self.index.knn_query(queries, TOP, num_threads=self.threads)[0].astype(np.int64)

    def write(self, path: Path) -> None:
        self.index.save_index(str(path))


class Faiss(Hnsw):
    def create(self) -> None:
        import faiss

        self.library = faiss
        self.index = faiss.IndexHNSWFlat(DIM, M, faiss.METRIC_INNER_PRODUCT)
        self.index.hnsw.efConstruction = EF_CONSTRUCTION

    def set_threads(self, threads: int) -> None:
        self.library.omp_set_num_threads(threads)

    def add(self, vectors: np.ndarray, first: int) -> None:
        self.index.add(vectors)

    def find(self, queries: np.ndarray, ef: int) -> np.ndarray:
        self.index.hnsw.efSearch = max(ef, TOP)
        return self.index.search(queries, TOP)[1]

    def write(self, path: Path) -> None:
        self.library.write_index(self.index, str(path))


class Usearch(Hnsw):
    def create(self) -> None:
        from usearch.index import Index

        self.index = Index(
            ndim=DIM, metric="ip", dtype="f32", connectivity=M, expansion_add=EF_CONSTRUCTION
        )

    def add(self, vectors: np.ndarray, first: int) -> None:
        self.index.add(np.arange(first, first + len(vectors)), vectors, threads=self.threads)

    def find(self, queries: np.ndarray, ef: int) -> np.ndarray:
        self.index.expansion_search = max(ef, TOP)
        found = self.index.search(queries, TOP, threads=self.threads)
        return found.keys.reshape(len(queries), -1).astype(np.int64)

    def write(self, path: Path) -> None:
        self.index.save(str(path))


def _resident() -> float:
    """Megabytes of memory that this process has in use; nan where the system does not tell."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * resource.getpagesize() / 1e6
    except (ImportError, OSError):
        return float("nan")
