"""One piece of work on more data than it may hold, in a process of its own that says what it took.

Each job runs under a limit of what it may allocate (RLIMIT_DATA: heap, stacks, private maps; not
files that are mapped to be read): a job that would need more ends with an error. It prints one line
of JSON: seconds, and the most memory that was resident, mapped pages included (VmHWM).
`bench/rows/big.py` runs them.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np

TOP = 100
NEAR = 16
PART = 1 << 16
QUERIES = 293
EFS = (16, 32, 64, 128, 256, 512, 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("job", choices=JOBS)
    parser.add_argument("--vectors", type=Path)
    parser.add_argument("--queries", type=Path)
    parser.add_argument("--texts", type=Path, help="folder that harness.data.text_folder made")
    parser.add_argument("--tickets", type=Path, help="folder that harness.data.ticket_folder made")
    parser.add_argument("--work", type=Path, help="folder of what is made on the way")
    parser.add_argument("--memory", default="2GB", help="what fastrecall is told (default 2GB)")
    parser.add_argument("--limit", type=int, default=4_000_000_000, help="bytes to allocate")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cold", action="store_true", help="let go of the file's cached pages")
    arguments = parser.parse_args()
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # its buffers are address space, and it is not used
    if arguments.limit:
        resource.setrlimit(resource.RLIMIT_DATA, (arguments.limit, arguments.limit))
    import harness  # noqa: F401  (finds the package in a checkout)

    result = JOBS[arguments.job](arguments)
    print(json.dumps({**result, "peak": _peak(), "limit": arguments.limit}))


def exact(given: argparse.Namespace) -> dict[str, Any]:
    """The best 100 of 293 queries, from a file."""
    from fastrecall.dataset import VectorDataset
    from fastrecall.search.blocks import BlockedIndex

    if given.cold:
        _forget(given.vectors)
    start = time.perf_counter()
    queries = np.load(given.queries)[:QUERIES]
    index = BlockedIndex(VectorDataset(given.vectors), memory=given.memory, threads=given.threads)
    ids, scores = index.search(queries, TOP)
    seconds = time.perf_counter() - start
    np.savez(given.work / "exact.npz", ids=ids, scores=scores)
    return {"seconds": seconds}


def knn(given: argparse.Namespace) -> dict[str, Any]:
    """One part of the neighbour graph: the nearest others of 65,536 vectors."""
    from fastrecall._memory import parse_bytes
    from fastrecall.dataset import VectorDataset
    from fastrecall.search.blocks.knn import Job, neighbours_of
    from fastrecall.search.blocks.room import Room

    source = VectorDataset(given.vectors)
    rows = min(PART, len(source))
    room = Room(parse_bytes(given.memory), source.dim, NEAR, given.threads)
    start = time.perf_counter()
    found = neighbours_of(Job(source, room, None), (0, rows), given.threads)
    seconds = time.perf_counter() - start
    assert found is not None
    np.savez(given.work / "knn.npz", ids=found[0][:QUERIES], scores=found[1][:QUERIES])
    return {"seconds": seconds, "rows": rows}


def count(given: argparse.Namespace) -> dict[str, Any]:
    """Count the words of all texts."""
    from fastrecall.search.blocks import BlockedBM25
    from harness.data import TextFile

    texts = TextFile(given.texts)
    start = time.perf_counter()
    BlockedBM25(texts, memory=given.memory, folder=given.work / "words", threads=given.threads)
    return {"seconds": time.perf_counter() - start, "texts": len(texts), "bytes": texts.nbytes}


def words(given: argparse.Namespace) -> dict[str, Any]:
    """Ask the counted texts 293 questions."""
    from fastrecall.search.blocks import BlockedBM25
    from harness.data import TextFile

    texts = TextFile(given.texts)
    start = time.perf_counter()
    index = BlockedBM25(
        texts, memory=given.memory, folder=given.work / "words", threads=given.threads
    )
    opened = time.perf_counter()
    ids, scores = index.search(texts.questions, TOP)
    seconds = time.perf_counter() - opened
    np.savez(given.work / "words.npz", ids=ids, scores=scores)
    return {"seconds": seconds, "open_seconds": opened - start}


def whole_words(given: argparse.Namespace) -> dict[str, Any]:
    """The same by one index that holds everything; for the comparison only."""
    from fastrecall.search.bm25 import BM25
    from harness.data import TextFile

    texts = TextFile(given.texts)
    ids, scores = BM25(texts[: len(texts)], threads=given.threads).search(texts.questions, TOP)
    np.savez(given.work / "whole_words.npz", ids=ids, scores=scores)
    return {}


class Rows:
    """The rows of a `.npy` file, read and not mapped: a growing index wants the address space."""

    def __init__(self, path: Path) -> None:
        whole = np.load(path, mmap_mode="r")
        self._path, self._offset, (self._count, self.dim) = path, whole.offset, whole.shape

    def __len__(self) -> int:
        return self._count

    def read(self, start: int, stop: int) -> np.ndarray:
        offset = self._offset + 4 * self.dim * start
        rows = np.fromfile(self._path, np.float32, (stop - start) * self.dim, offset=offset)
        return rows.reshape(-1, self.dim)


def store(given: argparse.Namespace) -> dict[str, Any]:
    """Write tickets in JSON lines as a dataset."""
    from fastrecall.corpus import write_dataset

    start = time.perf_counter()
    corpus = write_dataset(
        given.tickets / "tickets", given.work / "set", author_filter=None, memory=given.memory
    )
    seconds = time.perf_counter() - start
    size = sum(path.stat().st_size for path in (given.work / "set").iterdir())
    return {"seconds": seconds, "tickets": len(corpus), "bytes": size}


def evaluate(given: argparse.Namespace) -> dict[str, Any]:
    """Evaluate 293 gold pairs in all protocols, from opening the dataset to the record.

    With memory 0, a corpus and vectors that are held whole; for the comparison only.
    """
    import fastrecall as fr
    from fastrecall.corpus import gold_from_rows, read_gold
    from fastrecall.dataset import VectorDataset

    start = time.perf_counter()
    whole = given.memory == "0"
    corpus = fr.load_corpus(given.work / "set")
    record = fr.evaluate(
        corpus,
        gold=gold_from_rows(corpus, read_gold(given.tickets / "gold.csv")),
        vectors=VectorDataset(given.vectors),
        arms=("semantic", "semantic_prs", "bm25", "hybrid", "causal", "hybrid_causal"),
        cache=given.work / "cache",
        memory=None if whole else given.memory,
        threads=given.threads,
    )
    seconds = time.perf_counter() - start
    name = "whole_record" if whole else "record"
    (given.work / f"{name}.json").write_text(record.to_json(), encoding="utf-8")
    return {"seconds": seconds, "timings": record["timings"]}


def build(given: argparse.Namespace) -> dict[str, Any]:
    """Build an HNSW index from a file, and save it."""
    from fastrecall import HNSW
    from fastrecall.search.blocks import add_vectors

    source = Rows(given.vectors)
    # Thousands of vectors lie nearer to each other than one byte a value can tell.
    index = HNSW(source.dim, storage="float16", threads=given.threads)
    start = time.perf_counter()
    add_vectors(index, source, memory="256MB")
    built = time.perf_counter()
    index.save(given.work / "index.hnsw")
    return {"seconds": built - start, "save_seconds": time.perf_counter() - built}


def hnsw(given: argparse.Namespace) -> dict[str, Any]:
    """Open the saved index, mapped, and ask 293 queries with several `ef`."""
    from fastrecall import HNSW

    path = given.work / "index.hnsw"
    if given.cold:
        _forget(path)
    queries = np.load(given.queries)[:QUERIES]
    start = time.perf_counter()
    index = HNSW.load(path, threads=given.threads)
    opened = time.perf_counter() - start
    searches, found = [], {}
    for ef in EFS:
        index.search(queries, 10, ef=ef)  # pages that this reads are there for the timed one
        start = time.perf_counter()
        found[str(ef)] = index.search(queries, 10, ef=ef)[0]
        searches.append({"ef": ef, "seconds": time.perf_counter() - start})
    np.savez(given.work / "hnsw.npz", **found)
    return {"open_seconds": opened, "bytes": path.stat().st_size, "searches": searches}


def _peak() -> int:
    """Bytes that were resident at most."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return 1024 * int(line.split()[1])
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _forget(path: Path) -> None:
    """Take a file out of the page cache, as far as the system lets anyone."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


JOBS = {
    "exact": exact,
    "knn": knn,
    "count": count,
    "words": words,
    "whole_words": whole_words,
    "store": store,
    "evaluate": evaluate,
    "build": build,
    "hnsw": hnsw,
}

if __name__ == "__main__":
    main()
