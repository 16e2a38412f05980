"""The engine against its oracles on random cases: any shape, any numbers, ties, filters, threads.

Every case is made from its number alone. `FASTRECALL_CASES` says how many each instruction set
gets; all of them, overnight:

    FASTRECALL_CASES=100000 python -m pytest -m slow tests/core/test_differential.py
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from tests.children import environment
from tests.oracles import bm25 as bm25_oracle
from tests.oracles import fusion as fusion_oracle
from tests.oracles import topk as oracle
from tests.oracles.bfs import bfs_depths
from tests.oracles.walk import Edge, adjacency, walk_by_depth, walk_by_seed

from fastrecall import ExactIndex, _core, rrf
from fastrecall.graph import Graph
from fastrecall.search.bm25 import BM25

Random = np.random.Generator
Floats = npt.NDArray[np.floating]

CASES = int(os.environ.get("FASTRECALL_CASES", "2500"))
THREADS = [1, 2, 7]
STORAGES = ["int8", "float16", "float32"]


# ---- What a case is made from -------------------------------------------------------------------


def vectors_of(kind: str, n: int, dim: int, random: Random) -> npt.NDArray[np.float64]:
    """Numbers that bounds find easy or hard, and those at the ends of what float32 holds."""
    noise = random.standard_normal((n, dim))
    centres = random.standard_normal((3, dim))
    made: dict[str, Callable[[], npt.NDArray[np.float64]]] = {
        "normal": lambda: noise,
        "equal": lambda: np.broadcast_to(centres[0], (n, dim)),
        "tight clusters": lambda: centres[random.integers(0, 3, n)] + 1e-6 * noise,
        "clusters": lambda: centres[random.integers(0, 3, n)] + 0.1 * noise,
        "few values": lambda: random.integers(-1, 2, (n, dim)).astype(np.float64),
        "spikes": lambda: 1e-3 * noise + np.eye(dim)[random.integers(0, dim, n)],
        "decaying": lambda: noise * 0.9 ** np.arange(dim),
        "opposite": lambda: centres[0] * random.choice([-1, 1], (n, 1)),
        "sparse": lambda: noise * (random.random((n, dim)) < 0.1),
        "duplicates": lambda: noise[random.integers(0, max(1, n // 4), n)] if n else noise,
        "scales": lambda: noise * 10.0 ** random.integers(-18, 18, (n, 1)),
        # Squares of these overflow, or vanish, in float32.
        "huge": lambda: np.clip(noise, -3, 3) * 10.0 ** random.integers(19, 38, (n, 1)),
        "tiny": lambda: noise * 10.0 ** random.integers(-44, -20, (n, 1)),
        "denormal": lambda: random.integers(-9, 10, (n, dim)) * 2.0**-149,
        "zero rows": lambda: noise * (random.random((n, 1)) < 0.7),
        "mixed ends": lambda: noise * 10.0 ** random.integers(-40, 37, (n, dim)),
    }
    return made[kind]()


KINDS = [
    *("normal", "equal", "tight clusters", "clusters", "few values", "spikes", "decaying"),
    *("opposite", "sparse", "duplicates", "scales", "huge", "tiny", "denormal", "zero rows"),
    "mixed ends",
]


def laid_out(values: npt.NDArray[np.float64], random: Random) -> Floats:
    """The same numbers as some floating-point type, in some order in memory."""
    dtype = random.choice(["float32", "float64", "float16", ">f4"])
    if dtype == "float16":
        values = np.clip(values, -60_000, 60_000)
    array = values.astype(dtype)
    layout = int(random.integers(0, 5))
    if layout == 1:
        return np.asfortranarray(array)
    if layout == 2:  # every other place of something wider
        wide = np.full((2 * array.shape[0], 2 * array.shape[1] + 1), np.nan, array.dtype)
        wide[::2, 1::2] = array
        return wide[::2, 1::2]
    if layout == 3:
        return array[::-1, ::-1].copy()[::-1, ::-1]
    if layout == 4:
        array.flags.writeable = False
    return array


def shape(random: Random) -> tuple[int, int, int, int]:
    """(vectors, dimensions, queries, k): small ones mostly, that leave a vector's width often."""
    large = random.random() < 0.02
    n = int(random.integers(0, 900 if large else 90))
    dim = int(random.choice([1, 2, 3, 15, 16, 17, 40, 65, 100, 384] if large else [1, 2, 3, 8, 17]))
    if random.random() < 0.3:
        dim = int(random.integers(1, 70))
    count = int(random.integers(1, 80 if large else 9))
    return n, dim, count, int(random.choice([1, 2, 5, 10, 32, 100]))


# ---- The comparisons ----------------------------------------------------------------------------


def check_rankings(got: tuple[npt.NDArray, ...], expected: tuple[npt.NDArray, ...]) -> None:
    np.testing.assert_array_equal(got[0], expected[0])
    np.testing.assert_array_equal(got[1], expected[1])  # nan equals nan here


def search(random: Random) -> None:
    n, dim, count, k = shape(random)
    kind, storage = random.choice(KINDS), str(random.choice(STORAGES))
    data = vectors_of(kind, n + count, dim, random)
    vectors = laid_out(data[:n], random)
    other = random.choice(KINDS) if random.random() < 0.2 else kind
    queries = laid_out(data[n:] if other == kind else vectors_of(other, count, dim, random), random)
    mask = exclude = None
    if random.random() < 0.4:
        rows = (n,) if random.random() < 0.5 else (count, n)
        mask = random.random(rows) < random.choice([0, 0.02, 0.5, 0.98])
    if n and random.random() < 0.4:
        longest = int(random.choice([1, 3, n]))
        exclude = [
            random.integers(0, n, random.integers(0, longest + 1)).tolist() for _ in range(count)
        ]
    index = ExactIndex(vectors, storage=storage, threads=int(random.choice(THREADS)))
    got = index.search(queries, k, mask=mask, exclude=exclude)
    expected = oracle.search(vectors, queries, k, exclude=exclude, mask=mask, storage=storage)
    check_rankings(got, expected)
    # The oracle's own scores are those of a plain float64 product, up to rounding.
    plain = oracle.unit(queries).astype(np.float64) @ oracle.stored(vectors, storage).T.astype(
        np.float64
    )
    there = expected[0] >= 0
    rows = np.nonzero(there)[0]
    assert (np.abs(plain[rows, expected[0][there]] - expected[1][there]) < 1e-6).all()


def neighbours(random: Random) -> None:
    n, dim, _, k = shape(random)
    n, storage = n % 200, str(random.choice(STORAGES))
    vectors = laid_out(vectors_of(random.choice(KINDS), n, dim, random), random)
    index = ExactIndex(vectors, storage=storage, threads=int(random.choice(THREADS)))
    check_rankings(index.knn_graph(k), oracle.knn_graph(vectors, k, storage=storage))


def keywords(random: Random) -> None:
    n, count, k = int(random.integers(1, 40)), int(random.integers(1, 6)), 8
    words = [f"w{letter}" for letter in "abcdefghijklmno"[: int(random.integers(1, 15))]]
    fields = [
        [random.choice(words, random.integers(0, 12)).tolist() for _ in range(n)]
        for _ in range(int(random.integers(1, 3)))
    ]
    weights = [1.0, 0.5][: len(fields)]
    k1, b = float(random.choice([0, 0.9, 1.2])), float(random.choice([0, 0.4, 1]))
    index = BM25(
        {f"f{i}": [" ".join(text) for text in field] for i, field in enumerate(fields)},
        weights={f"f{i}": weight for i, weight in enumerate(weights)},
        k1=k1,
        b=b,
        threads=int(random.choice(THREADS)),
    )
    asked = [random.choice(words, random.integers(0, 5)).tolist() for _ in range(count)]
    visible = random.random((count, n)) < random.choice([0.3, 0.9])
    mask = random.random((count, n)) < 0.7
    exclude = random.integers(-1, n, (count, 2))
    filters = {
        "visible": visible if random.random() < 0.5 else None,
        "mask": mask if random.random() < 0.5 else None,
        "exclude": exclude if random.random() < 0.5 else None,
    }
    ids, scores = index.search([" ".join(query) for query in asked], k, **filters)
    for row, query in enumerate(asked):
        exists = np.ones(n, np.bool_) if filters["visible"] is None else visible[row].copy()
        if filters["exclude"] is not None:
            exists[exclude[row][exclude[row] >= 0]] = False
        expected = np.array(
            bm25_oracle.score_all(fields, weights, query, k1=k1, b=b, exists=exists.tolist())
        )
        own = index.scores(" ".join(query), visible=exists)
        np.testing.assert_allclose(own, expected, rtol=1e-9, atol=1e-300)
        allowed = None if filters["mask"] is None else mask[row].tolist()
        best = bm25_oracle.ranking(own.astype(np.float32).tolist(), k, allowed)
        assert ids[row].tolist() == best + [-1] * (k - len(best))
        np.testing.assert_array_equal(scores[row, : len(best)], own[best].astype(np.float32))
        assert np.isnan(scores[row, len(best) :]).all()


def fusion(random: Random) -> None:
    count, k = int(random.integers(1, 150)), float(random.choice([0, 1, 60]))
    lists = [
        random.integers(-1, random.integers(1, 30), (count, random.integers(0, 15)))
        for _ in range(random.integers(1, 5))
    ]
    weights = random.choice([0.0, 0.5, 1.0, 2.0], len(lists)).tolist()
    ids, scores = rrf(lists, k=k, weights=weights, threads=int(random.choice(THREADS)))
    longest = 0
    for row in {0, count // 2, count - 1}:
        expected = fusion_oracle.fuse([table[row].tolist() for table in lists], k, weights)
        longest = max(longest, len(expected))
        found = len(expected)
        assert ids[row, :found].tolist() == [node for node, _ in expected]
        shares = np.array([score for _, score in expected], np.float32)
        np.testing.assert_array_equal(scores[row, :found], shares)
        assert (ids[row, found:] == -1).all()
        assert np.isnan(scores[row, found:]).all()
    assert ids.shape[1] >= longest


def random_graph(random: Random) -> tuple[int, list[Edge], Graph]:
    nodes = int(random.integers(1, 40))
    count = int(random.integers(0, 4 * nodes))
    ends = random.integers(0, nodes, (2, count))
    types = random.integers(0, 3, count)
    weights = random.choice([-1, 0, -0.0, 1e-45, 0.25, 0.5, 1, 3e38], count).astype(np.float32)
    edges = [
        Edge(*edge) for edge in zip(*ends.tolist(), types.tolist(), weights.tolist(), strict=True)
    ]
    threads = int(random.choice(THREADS))
    return nodes, edges, Graph(*ends, types=types, weights=weights, nodes=nodes, threads=threads)


def walks(random: Random) -> None:
    nodes, edges, graph = random_graph(random)
    seeds = random.integers(-1, nodes, (int(random.integers(1, 30)), int(random.integers(0, 5))))
    exclude = random.integers(-1, nodes, (len(seeds), 2))
    order, depth = str(random.choice(["seed", "depth"])), int(random.integers(0, 5))
    budget = None if random.random() < 0.3 else int(random.integers(0, 20))
    types = None if random.random() < 0.5 else {0, 2}
    undirected = bool(random.random() < 0.5)
    ids, origins = graph.walk(
        seeds,
        depth=depth,
        budget=budget,
        order=order,
        types=types,
        undirected=undirected,
        exclude=exclude,
    )
    plain = walk_by_seed if order == "seed" else walk_by_depth
    for row in {0, len(seeds) // 2, len(seeds) - 1}:
        gone = exclude[row][exclude[row] >= 0].tolist()
        rows = adjacency(edges, types=types, undirected=undirected, exclude=gone)
        expected = plain(rows, seeds[row].tolist(), depth=depth, budget=budget, exclude=gone)
        found = len(expected)
        assert list(zip(ids[row, :found].tolist(), origins[row, :found].tolist(), strict=True)) == (
            expected
        )
        assert (ids[row, found:] == -1).all()
        assert (origins[row, found:] == 0).all()


def breadth_first(random: Random) -> None:
    nodes, edges, graph = random_graph(random)
    source, undirected = int(random.integers(0, nodes)), bool(random.random() < 0.5)
    types = None if random.random() < 0.5 else {1, 2}
    rows = adjacency(edges, types=types, undirected=undirected)
    allowed = [(node, end) for node, row in rows.items() for _, end in row]
    depths = graph.bfs(source, types=types, undirected=undirected)
    assert depths.tolist() == bfs_depths(nodes, allowed, source)


FAMILIES: dict[Callable[[Random], None], int] = {
    search: 12,
    neighbours: 3,
    keywords: 1,
    fusion: 1,
    walks: 2,
    breadth_first: 1,
}
"""How many of each twenty cases are of which kind."""
_ORDER = [family for family, share in FAMILIES.items() for _ in range(share)]


def check_case(number: int) -> str:
    """Compare one case; the name of its kind."""
    family = _ORDER[number % len(_ORDER)]
    try:
        family(np.random.default_rng([2026, number]))
    except Exception as error:
        raise AssertionError(
            f"{family.__name__}: case {number} on {_core.isa()}; once more with: "
            f"FASTRECALL_ISA={_core.isa()} python -c 'from tests.core.test_differential import "
            f"check_case; check_case({number})'"
        ) from error
    return family.__name__


def test_a_few_cases() -> None:
    kinds = Counter(check_case(number) for number in range(400))
    assert set(kinds) == {family.__name__ for family in FAMILIES}


@pytest.mark.slow
@pytest.mark.parametrize("isa", _core.available_isas())
def test_many_cases_on_each_instruction_set(isa: str) -> None:
    code = (
        "from tests.core.test_differential import CASES, check_case\n"
        "from fastrecall import _core\n"
        "print(_core.isa(), len([check_case(number) for number in range(CASES)]))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(FASTRECALL_ISA=isa),
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == [isa, str(CASES)]
