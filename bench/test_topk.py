"""Exact search beside its peers, 20,000 vectors of 384 dimensions, in one process.

For a quick look at a change; peers share one process here, so `bench/goals.py` has the last word.
"""

from __future__ import annotations

import numpy as np
import pytest

from contenders import exact
from harness import data
from harness.results import EXACT

COUNT, BATCH = 20_000, 256

CONTENDERS = {
    "fastrecall": (exact.Fastrecall, "int8"),
    "fastrecall float16": (exact.Fastrecall, "float16"),
    "fastrecall float32": (exact.Fastrecall, "float32"),
    "numpy": (exact.Numpy,),
    "faiss": (exact.Faiss,),
    "faiss BLAS": (exact.FaissBlas,),
    "scann": (exact.Scann,),
    "hnswlib": (exact.Hnswlib,),
    "usearch": (exact.Usearch,),
    "torch": (exact.Torch,),
}


@pytest.fixture(scope="module", params=CONTENDERS)
def contender(request, make):
    kind, *rest = CONTENDERS[request.param]
    return make(kind, data.unit_file(COUNT), data.query_file(), *rest)


@pytest.mark.benchmark(group="one query")
def test_one_query(benchmark, contender):
    benchmark(contender.single)


@pytest.mark.benchmark(group=f"{BATCH} queries")
def test_batch(benchmark, contender):
    benchmark(contender.batch, BATCH)
    queries = np.load(data.query_file())[:BATCH]
    best = data.best_scores(data.unit_file(COUNT), queries, data.TOP, name="queries")
    found = data.recall(data.unit_file(COUNT), queries, contender.answers(), best)
    rounded = getattr(contender, "storage", "") == "float16"  # exact for the rounded vectors
    assert found >= (0.99 if rounded else EXACT)


@pytest.mark.benchmark(group="16-NN graph of 20,000")
@pytest.mark.parametrize("name", ["fastrecall", "faiss", "scann"])
def test_neighbours(benchmark, name, make):
    kind, *rest = CONTENDERS[name]
    one = make(kind, data.unit_file(COUNT), data.query_file(), *rest)
    benchmark.pedantic(one.neighbours, (16, 1), rounds=3, warmup_rounds=1)


@pytest.mark.benchmark(group="building an index")
@pytest.mark.parametrize("storage", ["int8", "float16", "float32"])
def test_build(benchmark, storage, threads):
    from fastrecall.search.exact import ExactIndex

    vectors = np.load(data.unit_file(COUNT))
    benchmark(ExactIndex, vectors, storage=storage, threads=threads)
