"""Exact search against its oracle, bit by bit, on awkward shapes and values."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.oracles import topk as oracle

from fastrecall import ExactIndex
from fastrecall.errors import InputError

STORAGES = ["int8", "float16", "float32"]


def assert_equal(got, expected):
    np.testing.assert_array_equal(got[0], expected[0])
    np.testing.assert_array_equal(got[1], expected[1])  # nan equals nan here


def normal(n, dim, seed=0):
    return np.random.default_rng(seed).standard_normal((n, dim)).astype(np.float32)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize(
    "dim", [1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 384, 1030]
)
def test_every_width_of_vectors(dim, storage):
    vectors, queries = normal(131, dim, 1), normal(7, dim, 2)
    got = ExactIndex(vectors, storage=storage).search(queries, 5)
    assert_equal(got, oracle.search(vectors, queries, 5, storage=storage))


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("n", [0, 1, 2, 15, 16, 17, 63, 64, 65, 127, 1000])
@pytest.mark.parametrize("k", [1, 16, 200])
def test_every_size_of_index_and_k(n, k, storage):
    vectors, queries = normal(n, 20, 1), normal(3, 20, 2)
    got = ExactIndex(vectors, storage=storage).search(queries, k)
    assert_equal(got, oracle.search(vectors, queries, k, storage=storage))


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("count", [0, 1, 2, 5, 6, 7, 17, 33, 65, 150])
def test_every_batch_size(count, storage):
    vectors, queries = normal(300, 24, 1), normal(count, 24, 2)
    got = ExactIndex(vectors, storage=storage).search(queries, 4)
    assert_equal(got, oracle.search(vectors, queries, 4, storage=storage))


@pytest.mark.parametrize("storage", STORAGES)
def test_result_does_not_depend_on_batch_or_threads(storage):
    vectors, queries = normal(3000, 48, 1), normal(60, 48, 2)
    expected = ExactIndex(vectors, storage=storage, threads=1).search(queries, 10)
    for threads in (2, 7):
        index = ExactIndex(vectors, storage=storage, threads=threads)
        assert_equal(index.search(queries, 10), expected)
        for q in (0, 59):
            got = index.search(queries[q], 10)
            assert_equal(got, (expected[0][q : q + 1], expected[1][q : q + 1]))


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("n", [1, 2, 17, 200, 700])
def test_knn_graph(n, storage):
    vectors = normal(n, 33, n)
    vectors[n // 2] = vectors[0]  # a twin
    for threads in (1, 2):
        got = ExactIndex(vectors, storage=storage, threads=threads).knn_graph(6)
        assert_equal(got, oracle.knn_graph(vectors, 6, storage=storage))


@pytest.mark.parametrize("storage", STORAGES)
def test_duplicates_come_in_order_of_id(storage):
    vectors = np.repeat(normal(3, 40), 100, axis=0)
    ids, scores = ExactIndex(vectors, storage=storage).search(vectors[:1], 120)
    np.testing.assert_array_equal(ids[0, :100], np.arange(100))
    assert len(set(scores[0, :100].tolist())) == 1
    assert_equal((ids, scores), oracle.search(vectors, vectors[:1], 120, storage=storage))


@pytest.mark.parametrize("storage", STORAGES)
def test_all_vectors_equal(storage):
    vectors = np.ones((5000, 30), np.float32)
    index = ExactIndex(vectors, storage=storage)
    ids, _ = index.search(np.ones((40, 30), np.float32), 9)
    np.testing.assert_array_equal(ids, np.tile(np.arange(9), (40, 1)))
    ids, _ = index.knn_graph(2)
    np.testing.assert_array_equal(ids[:3], [[1, 2], [0, 2], [0, 1]])


@pytest.mark.parametrize("storage", STORAGES)
def test_clusters_as_tight_as_float32_allows(storage):
    random = np.random.default_rng(3)
    centres = random.standard_normal((4, 50))
    vectors = centres[random.integers(0, 4, 2000)] + 1e-6 * random.standard_normal((2000, 50))
    queries = centres + 1e-6 * random.standard_normal((4, 50))
    got = ExactIndex(vectors, storage=storage).search(queries, 32)
    assert_equal(got, oracle.search(vectors, queries, 32, storage=storage))


@pytest.mark.parametrize("storage", STORAGES)
def test_zero_vectors_score_zero(storage):
    vectors = np.array([[0, 0], [1, 0], [-1, 0], [-0.0, -0.0]], np.float32)
    ids, scores = ExactIndex(vectors, storage=storage).search([[1.0, 0.0], [0.0, 0.0]], 4)
    np.testing.assert_array_equal(ids, [[1, 0, 3, 2], [0, 1, 2, 3]])
    np.testing.assert_array_equal(scores, [[1, 0, 0, -1], [0, 0, 0, 0]])
    assert not np.signbit(scores[1]).any()


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("scale", [1e-45, 1e-38, 1e-20, 1e20, 3e38])
def test_length_of_vectors_does_not_matter(scale, storage):
    vectors = (np.eye(5, dtype=np.float64) * scale).astype(np.float32)
    ids, scores = ExactIndex(vectors, storage=storage).search(vectors, 1)
    np.testing.assert_array_equal(ids.ravel(), np.arange(5))
    np.testing.assert_array_equal(scores, 1)


@pytest.mark.parametrize("storage", STORAGES)
def test_one_large_value_among_small_ones(storage):
    vectors = normal(500, 64, 5) * 1e-3
    vectors[np.arange(500), np.arange(500) % 64] = 1
    queries = normal(20, 64, 6)
    got = ExactIndex(vectors, storage=storage).search(queries, 12)
    assert_equal(got, oracle.search(vectors, queries, 12, storage=storage))


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("allowed", [0.0, 0.01, 0.5, 1.0])
def test_masks(allowed, storage):
    random = np.random.default_rng(7)
    vectors, queries = normal(900, 30, 1), normal(20, 30, 2)
    index = ExactIndex(vectors, storage=storage)
    for shape in ((900,), (20, 900)):
        mask = random.random(shape) < allowed
        got = index.search(queries, 8, mask=mask)
        assert_equal(got, oracle.search(vectors, queries, 8, mask=mask, storage=storage))


@pytest.mark.parametrize("storage", STORAGES)
def test_excluded_ids_in_every_form(storage):
    vectors = normal(400, 30, 1)
    queries = vectors[:20]
    index = ExactIndex(vectors, storage=storage)
    lists = [[q] if q % 3 else [] for q in range(20)]
    expected = oracle.search(vectors, queries, 8, exclude=lists, storage=storage)
    assert_equal(index.search(queries, 8, exclude=lists), expected)
    one_each = [q if q % 3 else -1 for q in range(20)]
    assert_equal(index.search(queries, 8, exclude=one_each), expected)
    padded = np.array([[-1, q, q] for q in one_each])
    assert_equal(index.search(queries, 8, exclude=padded), expected)

    many = [np.random.default_rng(q).permutation(400)[: 390 + q % 3].tolist() for q in range(20)]
    expected = oracle.search(vectors, queries, 12, exclude=many, storage=storage)
    assert_equal(index.search(queries, 12, exclude=many), expected)
    mask = np.arange(400) % 2 == 0
    expected = oracle.search(vectors, queries, 12, exclude=many, mask=mask, storage=storage)
    assert_equal(index.search(queries, 12, exclude=many, mask=mask), expected)


@pytest.mark.parametrize("exclude", [[], [[]], [[], []]])
def test_empty_exclusions(exclude):
    vectors = normal(10, 4)
    count = len(exclude)
    got = ExactIndex(vectors).search(vectors[:count], 3, exclude=exclude)
    assert_equal(got, oracle.search(vectors, vectors[:count], 3))


def test_given_arrays_may_have_any_layout():
    vectors, queries = normal(50, 12, 1), normal(4, 12, 2)
    expected = oracle.search(vectors, queries, 5)
    frozen = vectors.copy()
    frozen.flags.writeable = False
    wide = np.zeros((100, 24), np.float32)
    wide[::2, ::2] = vectors
    for form in (
        vectors.astype(np.float64),
        np.asfortranarray(vectors),
        frozen,
        wide[::2, ::2],
        vectors[::-1][::-1],
        vectors.tolist(),
        vectors.astype(">f4"),
    ):
        assert_equal(ExactIndex(form).search(queries.astype(np.float64), 5), expected)


def test_vectors_are_copied():
    vectors = normal(50, 12, 1)
    index = ExactIndex(vectors)
    before = index.search(vectors[:3].copy(), 5)
    queries = vectors[:3].copy()
    vectors[:] = 0
    assert_equal(index.search(queries, 5), before)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ExactIndex(np.ones(4)), "expected a matrix"),
        (lambda: ExactIndex(np.ones((2, 0))), "d of at least 1"),
        (lambda: ExactIndex(np.ones((2, 2, 2))), r"float64 \(2, 2, 2\)"),
        (lambda: ExactIndex(np.ones((2, 2), int)), "expected floating-point"),
        (lambda: ExactIndex([["a", "b"]]), "expected floating-point"),
        (lambda: ExactIndex([[1.0, 2.0], [3.0]]), "vectors is not an array"),
        (lambda: ExactIndex([[1.0, 2.0], [3.0, np.nan]]), "vectors: row 1, column 1 is nan"),
        (lambda: ExactIndex([[-np.inf, 2.0]]), "vectors: row 0, column 0 is infinite"),
        (lambda: ExactIndex([[1e300, 2.0]]), "vectors: row 0, column 0 is infinite"),
        (lambda: ExactIndex(np.ones((2, 2)), storage="int4"), "expected 'int8', 'float16' or"),
        (lambda: ExactIndex(np.ones((2, 2)), threads=0), "threads is 0"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
def test_bad_vectors_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([[1.0, 2.0, 3.0]], 1), {}, "queries have 3 dimensions, the index has 2"),
        (([[1.0, np.inf]], 1), {}, "queries: row 0, column 1 is infinite"),
        (([[1, 2]], 1), {}, "expected floating-point"),
        (([[1.0, 2.0]], 0), {}, "k is 0; expected 1 or more"),
        (([[1.0, 2.0]], 1), {"mask": np.ones(4, bool)}, r"mask has shape \(1, 4\)"),
        (([[1.0, 2.0]], 1), {"mask": np.ones((2, 3), bool)}, r"mask has shape \(2, 3\)"),
        (([[1.0, 2.0]], 1), {"mask": np.ones(3)}, "expected booleans"),
        (([[1.0, 2.0]], 1), {"exclude": [3]}, "exclude holds id 3"),
        (([[1.0, 2.0]], 1), {"exclude": [-2]}, r"exclude\[0\] has ids outside of 0 to"),
        (([[1.0, 2.0]], 1), {"exclude": [2**40]}, r"exclude\[0\] has ids outside of 0 to"),
        (([[1.0, 2.0]], 1), {"exclude": [0, 1]}, "exclude has 2 lists; expected one for each of 1"),
        (([[1.0, 2.0]], 1), {"exclude": [0.5]}, "expected whole numbers"),
        (([[1.0, 2.0]], 1), {"exclude": 3}, "exclude is 3; expected one list of ids a query"),
    ],
)
def test_bad_searches_are_refused(arguments, options, message):
    index = ExactIndex(np.ones((3, 2)))
    with pytest.raises(InputError, match=message):
        index.search(*arguments, **options)


def test_many_python_threads_at_once():
    vectors, queries = normal(2000, 32, 1), normal(30, 32, 2)
    index = ExactIndex(vectors, threads=2)
    expected = index.search(queries, 5)
    results: list[tuple[np.ndarray, np.ndarray]] = []

    def work():
        results.extend(index.search(queries, 5) for _ in range(5))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(results) == 20
    for got in results:
        assert_equal(got, expected)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), storage=st.sampled_from(STORAGES), threads=st.sampled_from([1, 2, 7]))
def test_any_vectors_match_the_oracle(data, storage, threads):
    n, dim = data.draw(st.integers(0, 90)), data.draw(st.integers(1, 40))
    count, k = data.draw(st.integers(0, 20)), data.draw(st.integers(1, 100))
    # Few distinct values make ties; wide ranges defeat codes.
    values = data.draw(
        st.sampled_from(
            [
                st.integers(-2, 2).map(float),
                st.floats(-1, 1, width=32),
                st.floats(width=32, allow_nan=False, allow_infinity=False),
            ]
        )
    )
    vectors = data.draw(hnp.arrays(np.float32, (n, dim), elements=values))
    queries = data.draw(hnp.arrays(np.float32, (count, dim), elements=values))
    mask = data.draw(hnp.arrays(np.bool_, (n,)))
    index = ExactIndex(vectors, storage=storage, threads=threads)
    got = index.search(queries, k, mask=mask)
    assert_equal(got, oracle.search(vectors, queries, k, mask=mask, storage=storage))
    assert_equal(index.knn_graph(k), oracle.knn_graph(vectors, k, storage=storage))
