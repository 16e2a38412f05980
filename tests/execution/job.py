"""A real job as a process of its own: exact search and the neighbour graph over a `.npy` file.

``job.py EXECUTOR ADDRESS FOLDER`` reads ``vectors.npy`` of the folder, keeps the parts of the graph
there as they are found, writes ``EXECUTOR.npz`` and prints its own memory as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from fastrecall.dataset import VectorDataset
from fastrecall.execution import executor_named
from fastrecall.search.blocks import BlockedIndex, exact, knn

K = 16
QUERIES = 100

# Parts so small that a small corpus has many tasks; results do not depend on them.
exact.ROWS_OF_TASK = 2000
knn.ROWS_OF_PART = 2000


def megabytes() -> float:
    """The most memory that this process has had."""
    [line] = [
        line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line
    ]
    return int(line.split()[1]) / 1024


def main(name: str, address: str, folder: Path) -> None:
    source = VectorDataset(folder / "vectors.npy")
    with executor_named(name, address=address or None, threads=1) as executor:
        before = megabytes()
        index = BlockedIndex(source, memory="20MB", executor=executor)
        ids, scores = index.search(source.read(0, QUERIES), K)
        graph_ids, graph_scores = index.knn_graph(K, folder=folder / f"graph-{name}")
        after = megabytes()
    np.savez(
        folder / f"{name}.npz",
        ids=ids,
        scores=scores,
        graph_ids=graph_ids,
        graph_scores=graph_scores,
    )
    print(json.dumps({"before": before, "grown": after - before}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
