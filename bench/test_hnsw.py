"""HNSW beside its peers, 5,000 vectors, in one process; `bench/goals.py` has the last word."""

from __future__ import annotations

import pytest

from contenders import hnsw
from harness import data

COUNT, EF = 5_000, 64

CONTENDERS = {
    "fastrecall float32": (hnsw.Fastrecall, "float32"),
    "fastrecall int8": (hnsw.Fastrecall, "int8"),
    "hnswlib": (hnsw.Hnswlib,),
    "faiss": (hnsw.Faiss,),
    "usearch": (hnsw.Usearch,),
}


@pytest.fixture(scope="module")
def files():
    vectors, queries, _ = data.mixed_files(COUNT)
    return vectors, queries


@pytest.mark.benchmark(group="build")
@pytest.mark.parametrize("name", CONTENDERS)
def test_build(benchmark, name, make, files):
    kind, *rest = CONTENDERS[name]

    def fresh():
        return (make(kind, *files, 1, *rest),), {}

    benchmark.pedantic(lambda one: one.grow(), setup=fresh, rounds=3)


@pytest.mark.benchmark(group=f"1,000 queries, ef {EF}")
@pytest.mark.parametrize("name", CONTENDERS)
def test_search(benchmark, name, make, files):
    kind, *rest = CONTENDERS[name]
    one = make(kind, *files, 1, *rest)
    one.grow()
    benchmark(one.search, EF)
    assert one.answers().shape == (1000, data.TOP)
