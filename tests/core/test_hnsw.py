"""HNSW: recall, determinism, deletion, masks, files; against exact search."""

from __future__ import annotations

import hashlib
import os
import signal
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.core.test_isa import run

from fastrecall import HNSW, ExactIndex, _core
from fastrecall.errors import CacheError, InputError

PROBE = """
from tests.core.test_hnsw import digest
print(digest())
"""


def clustered(n: int, dim: int, *, clusters: int, seed: int, spread: float = 0.6) -> np.ndarray:
    """Gaussian clusters whose noise has a decaying spectrum, as text embeddings have."""
    random = np.random.default_rng(seed)
    scale = np.arange(1, dim + 1) ** -0.5
    centres = np.random.default_rng(99).standard_normal((clusters, dim)) * scale
    noise = random.standard_normal((n, dim)) * scale * spread
    return (centres[random.integers(0, clusters, n)] + noise).astype(np.float32)


def mixed(base: np.ndarray, n: int, *, seed: int) -> np.ndarray:
    """Mixtures of three rows of *base* each, with a little noise."""
    random = np.random.default_rng(seed)
    weights = random.dirichlet([0.5] * 3, n)[..., None]
    rows = (weights * base[random.integers(0, len(base), (n, 3))]).sum(axis=1)
    return (rows + 0.015 * random.standard_normal(rows.shape)).astype(np.float32)


def recall(found: np.ndarray, truth: np.ndarray) -> float:
    pairs = zip(found.tolist(), truth.tolist(), strict=True)
    return float(np.mean([len(set(a) & set(b)) / len(b) for a, b in pairs]))


def built(vectors: np.ndarray, **options: object) -> HNSW:
    index = HNSW(vectors.shape[1], **options)
    index.add(vectors)
    return index


def saved(index: HNSW) -> bytes:
    parts: list[bytes] = []
    index._core.save(lambda part: parts.append(bytes(part)))
    return b"".join(parts)


def digest() -> str:
    """Hash of whole indexes and answers, over storages and shapes."""
    state = hashlib.sha256()
    for storage in ("int8", "float16", "float32"):
        for n, dim in ((0, 4), (1, 3), (40, 17), (1500, 65)):
            vectors = clustered(n, dim, clusters=9, seed=n) if n else np.empty((0, dim))
            index = built(vectors, m=6, ef_construction=40, storage=storage, threads=2)
            state.update(saved(index))
            queries = clustered(20, dim, clusters=9, seed=5)
            for part in index.search(queries, 7, ef=20):
                state.update(part.tobytes())
    return state.hexdigest()


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    return clustered(6000, 64, clusters=60, seed=1)


@pytest.fixture(scope="module")
def queries() -> np.ndarray:
    return clustered(200, 64, clusters=60, seed=2)


@pytest.fixture(scope="module")
def index(vectors: np.ndarray) -> HNSW:
    return built(vectors, storage="float32")


# ---- Recall ------------------------------------------------------------------------------------


# The same vectors give the same graph everywhere, so that little room is left below what is found.
# At least this share of the ten nearest, by m and ef:
ON_CLUSTERS = {
    4: {16: 0.90, 32: 0.975, 64: 0.99, 256: 0.999},
    8: {16: 0.98, 32: 0.999, 64: 1.0},
    16: {16: 0.99, 32: 1.0},
    32: {16: 0.99, 32: 1.0},
}
ON_TITLES = {
    4: {32: 0.86, 64: 0.935, 128: 0.97, 256: 0.985},
    8: {16: 0.92, 32: 0.965, 64: 0.99, 256: 0.999},
    16: {16: 0.955, 32: 0.99, 64: 0.998, 256: 0.999},
    32: {16: 0.97, 32: 0.99, 64: 0.999, 256: 0.999},
}
ON_MIXED_TITLES = {
    4: {32: 0.88, 64: 0.94, 256: 0.985},
    8: {16: 0.90, 32: 0.945, 64: 0.98, 256: 0.998},
    16: {16: 0.91, 32: 0.965, 64: 0.99, 256: 0.998},
    32: {16: 0.92, 32: 0.97, 64: 0.99, 256: 0.998},
}


def check_recall(vectors: np.ndarray, queries: np.ndarray, m: int, least: dict[int, float]) -> None:
    truth, _ = ExactIndex(vectors).search(queries, 10)
    index = built(vectors, m=m, storage="float32")
    found = {ef: recall(index.search(queries, 10, ef=ef)[0], truth) for ef in least}
    assert all(found[ef] >= least[ef] for ef in least), found


@pytest.mark.parametrize("m", ON_CLUSTERS)
def test_recall_on_clusters(vectors: np.ndarray, queries: np.ndarray, m: int) -> None:
    check_recall(vectors, queries, m, ON_CLUSTERS[m])


@pytest.fixture(scope="module")
def titles(corpora: Path) -> np.ndarray:
    """The vectors of the titles of 3,256 real tickets, in random order."""
    from fastrecall import embed, load_corpus

    tickets = load_corpus(corpora / "merged").tickets
    rows = embed([ticket.title for ticket in tickets])
    return rows[np.random.default_rng(0).permutation(len(rows))]


@pytest.mark.slow
@pytest.mark.parametrize("m", ON_TITLES)
def test_recall_on_real_titles(titles: np.ndarray, m: int) -> None:
    check_recall(titles[300:], titles[:300], m, ON_TITLES[m])


@pytest.mark.slow
@pytest.mark.parametrize("m", ON_MIXED_TITLES)
def test_recall_on_mixtures_of_real_titles(titles: np.ndarray, m: int) -> None:
    base = titles[:900]
    check_recall(mixed(base, 20_000, seed=4), mixed(base, 300, seed=5), m, ON_MIXED_TITLES[m])


def test_recall_on_mixtures_that_look_like_texts() -> None:
    base = clustered(800, 384, clusters=200, seed=3, spread=1.0)
    vectors, queries = mixed(base, 5000, seed=4), mixed(base, 200, seed=5)
    truth, _ = ExactIndex(vectors).search(queries, 32)
    index = built(vectors, storage="float32")
    assert recall(index.search(queries, 32, ef=64)[0], truth) >= 0.97
    assert recall(index.search(queries, 32, ef=256)[0], truth) >= 0.995


@pytest.mark.parametrize(("storage", "error"), [("int8", 5e-3), ("float16", 1e-3)])
def test_smaller_storage_finds_the_same_with_scores_nearly_right(
    vectors: np.ndarray, queries: np.ndarray, index: HNSW, storage: str, error: float
) -> None:
    small = built(vectors, storage=storage)
    found, scores = small.search(queries, 10, ef=128)
    truth, exact = index.search(queries, 10, ef=128)
    assert recall(found, truth) >= 0.95
    assert np.abs(scores - exact).max() < error


def test_scores_of_float32_are_those_of_exact_search(
    vectors: np.ndarray, queries: np.ndarray, index: HNSW
) -> None:
    exact_ids, exact_scores = ExactIndex(vectors).search(queries, len(vectors))
    found, scores = index.search(queries, 10)
    for query in range(len(queries)):
        score_of = dict(zip(exact_ids[query].tolist(), exact_scores[query].tolist(), strict=True))
        assert scores[query].tolist() == [score_of[id] for id in found[query].tolist()]
        ranked = list(zip((-scores[query]).tolist(), found[query].tolist(), strict=True))
        assert ranked == sorted(ranked)


def test_a_larger_ef_finds_more_for_more_work(
    vectors: np.ndarray, queries: np.ndarray, index: HNSW
) -> None:
    truth, _ = ExactIndex(vectors).search(queries, 10)
    recalls, work = [], []
    for ef in (10, 40, 160):
        before = index.counters
        found, _ = index.search(queries, 10, ef=ef)
        after = index.counters
        recalls.append(recall(found, truth))
        work.append(after.distances - before.distances)
        assert after.searches - before.searches == len(queries)
        assert 0 < after.visited - before.visited < work[-1] < len(vectors) * len(queries)
    assert recalls == sorted(recalls)
    assert work == sorted(work)


# ---- Determinism -------------------------------------------------------------------------------


def test_threads_decide_nothing(vectors: np.ndarray, queries: np.ndarray) -> None:
    one, *others = [built(vectors, threads=threads) for threads in (1, 2, 7)]
    for other in others:
        assert saved(other) == saved(one)
        for a, b in zip(other.search(queries, 10), one.search(queries, 10), strict=True):
            assert np.array_equal(a, b)


def test_the_seed_decides_the_layers(vectors: np.ndarray) -> None:
    assert saved(built(vectors[:500], seed=1)) == saved(built(vectors[:500], seed=1))
    assert saved(built(vectors[:500], seed=1)) != saved(built(vectors[:500], seed=2))


@pytest.mark.parametrize("isa", _core.available_isas())
def test_every_instruction_set_builds_the_same_index(isa: str) -> None:
    result = run(isa, PROBE)
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == digest()


def test_one_vector_at_a_time_is_as_good(vectors: np.ndarray, queries: np.ndarray) -> None:
    index = HNSW(64, storage="float32")
    for row in vectors[:1500]:
        index.add(row[None])
    truth, _ = ExactIndex(vectors[:1500]).search(queries, 10)
    assert recall(index.search(queries, 10, ef=64)[0], truth) >= 0.98


# ---- Searching ---------------------------------------------------------------------------------


def test_ef_may_differ_from_query_to_query(queries: np.ndarray, index: HNSW) -> None:
    efs = np.where(np.arange(len(queries)) % 2, 10, 100)
    ids, scores = index.search(queries, 10, ef=efs)
    for ef in (10, 100):
        same = efs == ef
        alone = index.search(queries[same], 10, ef=ef)
        assert np.array_equal(ids[same], alone[0])
        assert np.array_equal(scores[same], alone[1])


@pytest.mark.parametrize("share", [0.001, 0.02, 0.3, 0.9])
def test_a_mask_hides_ids_and_the_others_are_still_found(
    vectors: np.ndarray, queries: np.ndarray, index: HNSW, share: float
) -> None:
    mask = np.random.default_rng(6).random(len(vectors)) < share
    truth, _ = ExactIndex(vectors).search(queries, 5, mask=mask)
    found, _ = index.search(queries, 5, ef=64, mask=mask)
    assert mask[found[found >= 0]].all()
    assert recall(found, truth) >= 0.98


def test_a_mask_that_hides_all_leaves_nothing(queries: np.ndarray, index: HNSW) -> None:
    ids, scores = index.search(queries, 3, mask=np.zeros(len(index), bool))
    assert (ids == -1).all()
    assert np.isnan(scores).all()


def test_more_than_there_is() -> None:
    index = built(np.eye(3, dtype=np.float32))
    ids, scores = index.search(np.array([0.0, 1.0, 0.0]), 5)
    assert ids.tolist() == [[1, 0, 2, -1, -1]]
    assert np.isnan(scores[0, 3:]).all()


def test_an_empty_index() -> None:
    index = HNSW(4)
    assert len(index) == 0
    assert index.search(np.ones((2, 4)), 2)[0].tolist() == [[-1, -1], [-1, -1]]
    index.add(np.empty((0, 4)))
    index.add(np.empty((0, 4)), ids=[])
    index.delete([])
    index.compact()
    assert len(index) == 0
    assert index.search(np.empty((0, 4)), 2)[0].shape == (0, 2)


def test_zero_vectors_score_zero() -> None:
    vectors = np.zeros((3, 5), np.float32)
    vectors[1, 2] = 2
    for storage in ("int8", "float16", "float32"):
        ids, scores = built(vectors, storage=storage).search(np.array([0, 0, 1.0, 0, 0]), 3)
        assert ids.tolist() == [[1, 0, 2]]
        assert scores.tolist() == [[1, 0, 0]]
        assert built(vectors).search(np.zeros(5), 3)[1].tolist() == [[0, 0, 0]]


@pytest.mark.parametrize("copies", [40, 600])
def test_many_equal_vectors_are_found_by_their_lowest_ids(vectors: np.ndarray, copies: int) -> None:
    several = np.concatenate([vectors[:2000], np.repeat(vectors[7:8], copies, axis=0)])
    ids, _ = built(several, storage="float32").search(vectors[7], 20, ef=64)
    assert ids[0].tolist() == [7, *range(2000, 2019)]


# ---- Adding and deleting -----------------------------------------------------------------------


def test_deleted_ids_are_never_found_and_the_rest_is(
    vectors: np.ndarray, queries: np.ndarray
) -> None:
    index = built(vectors, storage="float32")
    gone = np.random.default_rng(7).choice(len(vectors), len(vectors) // 2, replace=False)
    index.delete(gone)
    assert (len(index), index.deleted) == (len(vectors) // 2, len(vectors) // 2)
    mask = np.ones(len(vectors), bool)
    mask[gone] = False
    truth, _ = ExactIndex(vectors).search(queries, 10, mask=mask)
    for _ in range(2):
        found, _ = index.search(queries, 10, ef=64)
        assert not np.isin(found, gone).any()
        assert recall(found, truth) >= 0.98
        index.compact()
    assert (len(index), index.deleted) == (len(vectors) // 2, 0)
    assert index.ids.tolist() == np.flatnonzero(mask).tolist()


def test_ids_may_be_given_reused_and_continued() -> None:
    index = built(np.eye(4, dtype=np.float32)[:2])
    index.add(np.eye(4, dtype=np.float32)[2:3], ids=[40])
    index.add(np.eye(4, dtype=np.float32)[3:4])
    assert index.ids.tolist() == [0, 1, 40, 41]
    index.delete(0)
    index.add(np.eye(4, dtype=np.float32)[:1], ids=[0])
    assert index.ids.tolist() == [1, 40, 41, 0]
    assert index.search(np.eye(4), 1)[0].ravel().tolist() == [0, 1, 40, 41]


def test_a_refused_addition_adds_nothing(vectors: np.ndarray, queries: np.ndarray) -> None:
    index = built(vectors[:100])
    before = saved(index)
    spoiled = vectors[100:].copy()
    spoiled[5000, 3] = np.nan
    with pytest.raises(InputError, match=r"vectors from row 4096: row 904, column 3 is nan"):
        index.add(spoiled)
    with pytest.raises(InputError, match=r"ids\[1\] is 99, which is there already"):
        index.add(vectors[:2], ids=[100, 99])
    assert saved(index) == before
    index.add(vectors[100:])
    assert len(index) == len(vectors)
    assert recall(index.search(queries, 5)[0], ExactIndex(vectors).search(queries, 5)[0]) > 0.95


class Life(RuleBasedStateMachine):
    """Whatever happens to an index, what it returns is alive, in range, once, and in order."""

    def __init__(self) -> None:
        super().__init__()
        self.random = np.random.default_rng(8)
        self.folder = tempfile.TemporaryDirectory()
        self.index = HNSW(6, m=3, ef_construction=8, storage="float32", threads=2)
        self.alive: dict[int, np.ndarray] = {}
        self.gone: set[int] = set()
        self.next_id = 0

    def teardown(self) -> None:
        del self.index  # its file may be mapped
        self.folder.cleanup()

    def rows(self, count: int) -> np.ndarray:
        return self.random.integers(-2, 3, (count, 6)).astype(np.float32)

    def added(self, ids: list[int], rows: np.ndarray) -> None:
        self.alive.update(zip(ids, rows, strict=True))
        self.gone -= set(ids)
        self.next_id = max([self.next_id, *(id + 1 for id in ids)])

    @rule(count=st.integers(0, 30))
    def add(self, count: int) -> None:
        rows = self.rows(count)
        self.index.add(rows)
        self.added(list(range(self.next_id, self.next_id + count)), rows)

    @precondition(lambda self: self.gone)
    @rule(data=st.data())
    def add_again_under_ids_that_were_deleted(self, data: st.DataObject) -> None:
        ids = data.draw(st.lists(st.sampled_from(sorted(self.gone)), unique=True, max_size=9))
        rows = self.rows(len(ids))
        self.index.add(rows, ids=ids)
        self.added(ids, rows)

    @rule(gap=st.integers(1, 50))
    def add_far_off(self, gap: int) -> None:
        rows = self.rows(1)
        self.index.add(rows, ids=[self.next_id + gap])
        self.added([self.next_id + gap], rows)

    @precondition(lambda self: self.alive)
    @rule(data=st.data())
    def add_what_is_there(self, data: st.DataObject) -> None:
        id = data.draw(st.sampled_from(sorted(self.alive)))
        with pytest.raises(InputError, match="which is there already"):
            self.index.add(self.rows(1), ids=[id])

    @precondition(lambda self: self.alive)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        gone = data.draw(st.lists(st.sampled_from(sorted(self.alive)), unique=True, max_size=9))
        self.index.delete(gone)
        for id in gone:
            del self.alive[id]
        self.gone |= set(gone)

    @precondition(lambda self: self.alive)
    @rule()
    def delete_all(self) -> None:
        self.index.delete(sorted(self.alive))
        self.gone |= set(self.alive)
        self.alive.clear()

    @rule()
    def compact(self) -> None:
        self.index.compact()

    @rule(mmap=st.booleans(), threads=st.integers(1, 3))
    def save_and_load(self, mmap: bool, threads: int) -> None:
        file = Path(self.folder.name) / "index.hnsw"
        self.index.save(file)
        self.index = HNSW.load(file, mmap=mmap, threads=threads)

    @rule(k=st.integers(1, 12), ef=st.integers(1, 40), masked=st.booleans())
    def search(self, k: int, ef: int, masked: bool) -> None:
        query = self.rows(1)[0]
        mask = self.random.random(self.next_id) < 0.5 if masked else None
        ids, scores = self.index.search(query, k, ef=ef, mask=mask)
        found = ids[0][ids[0] >= 0].tolist()
        assert ids[0].tolist() == found + [-1] * (k - len(found))
        assert np.isnan(scores[0, len(found) :]).all()
        assert len(found) == len(set(found)) <= k
        assert set(found) <= set(self.alive)
        if mask is not None:
            assert mask[found].all()
        order = list(zip((-scores[0][: len(found)]).tolist(), found, strict=True))
        assert order == sorted(order)
        for id, score in zip(found, scores[0].tolist(), strict=False):
            row = self.alive[id].astype(np.float64)
            length = np.linalg.norm(row) * np.linalg.norm(query)
            assert score == pytest.approx(row @ query / length if length else 0, abs=1e-6)

    @invariant()
    def count(self) -> None:
        assert len(self.index) == len(self.alive)
        assert sorted(self.index.ids.tolist()) == sorted(self.alive)


TestLife = Life.TestCase


def test_searches_and_changes_from_several_threads(
    vectors: np.ndarray, queries: np.ndarray
) -> None:
    index = built(vectors[:1000], threads=2)

    def work(turn: int) -> None:
        if turn % 4 == 0:
            index.add(vectors[1000 + turn * 10 : 1010 + turn * 10])
        elif turn % 4 == 1:
            index.delete([turn])
        else:
            ids, _ = index.search(queries[:20], 5)
            assert (ids >= 0).all()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(64)))
    assert len(index) == 1000 + 16 * 10 - 16


# ---- Files -------------------------------------------------------------------------------------


@pytest.mark.parametrize("storage", ["int8", "float16", "float32"])
@pytest.mark.parametrize("mmap", [True, False])
def test_what_was_saved_answers_the_same(
    vectors: np.ndarray, queries: np.ndarray, tmp_path: Path, storage: str, mmap: bool
) -> None:
    index = built(vectors[:3000], storage=storage, m=8, seed=5)
    index.delete([4, 9])
    file = tmp_path / "index.hnsw"
    index.save(file)
    loaded = HNSW.load(file, mmap=mmap)
    assert repr(loaded) == repr(index)
    assert (loaded.seed, loaded.ef_construction) == (index.seed, index.ef_construction)
    for a, b in zip(index.search(queries, 10), loaded.search(queries, 10), strict=True):
        assert np.array_equal(a, b)
    for one in (index, loaded):
        one.add(vectors[3000:4000])
        one.delete(10)
    assert saved(index) == saved(loaded)
    loaded.save(file)
    assert file.read_bytes() == saved(index)


def test_a_file_is_as_large_as_its_parts(vectors: np.ndarray, tmp_path: Path) -> None:
    index = built(vectors, storage="float32")
    index.save(tmp_path / "index.hnsw")
    parts = len(vectors) * (64 * 4 + 64 + 2 * 16 * 4)  # vectors, codes, links
    assert parts < (tmp_path / "index.hnsw").stat().st_size < 1.3 * parts
    assert parts < index.nbytes < 1.3 * parts


def test_a_flipped_byte_is_refused() -> None:
    whole = saved(built(clustered(300, 20, clusters=5, seed=1), storage="float16"))
    places = {*range(256), *range(256, len(whole), 53), len(whole) - 1}
    for place in places:
        data = np.frombuffer(whole, np.uint8).copy()
        data[place] ^= 1 << (place % 8)
        with pytest.raises(InputError, match=r"^index\.hnsw "):
            _core.HNSW.load(data, name="index.hnsw")


def test_a_file_of_another_length_is_refused() -> None:
    whole = saved(built(clustered(300, 20, clusters=5, seed=1)))
    for length in {*range(300), *range(300, len(whole), 101), len(whole) - 1}:
        with pytest.raises(InputError, match=r"is cut off|is not an HNSW index"):
            _core.HNSW.load(np.frombuffer(whole[:length], np.uint8), name="index.hnsw")
    with pytest.raises(InputError, match="is longer than its header says"):
        _core.HNSW.load(np.frombuffer(whole + b"\0" * 64, np.uint8), name="index.hnsw")


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*absent"):
        HNSW.load(tmp_path / "absent.hnsw")
    with pytest.raises(InputError, match="cannot read"):
        HNSW.load(tmp_path)
    (tmp_path / "empty").touch()
    (tmp_path / "text").write_text("not an index\n" * 100)
    for name in ("empty", "text"):
        for mmap in (True, False):
            with pytest.raises(InputError, match=f"{name} is not an HNSW index of fastrecall"):
                HNSW.load(tmp_path / name, mmap=mmap)


def test_a_failed_save_leaves_the_old_file(tmp_path: Path) -> None:
    index = built(np.eye(3, dtype=np.float32))
    index.save(tmp_path / "index.hnsw")
    old = (tmp_path / "index.hnsw").read_bytes()
    with pytest.raises(CacheError, match="cannot write"):
        index.save(tmp_path / "index.hnsw" / "below.hnsw")

    def full(part: memoryview) -> None:
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        index._core.save(full)
    assert (tmp_path / "index.hnsw").read_bytes() == old


# ---- Refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dim": 0}, "dim is 0; expected 1 to 65536"),
        ({"dim": -3}, "dim is"),
        ({"m": 1}, "m is 1; expected 2 to 256"),
        ({"m": 2**40}, "m is 1099511627776"),
        ({"ef_construction": 0}, "ef_construction is 0; expected 1 to 65536"),
        ({"storage": "int4"}, "storage is 'int4'; expected 'int8', 'float16' or 'float32'"),
        ({"threads": 0}, "threads is 0"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        HNSW(**{"dim": 3, **options})


@pytest.mark.parametrize(
    ("vectors", "ids", "message"),
    [
        (np.ones((2, 4)), None, "vectors has 4 columns; the index has 3 dimensions"),
        (np.ones(3), None, r"vectors is float64 \(3,\); expected a matrix"),
        (np.ones((2, 3), int), None, "vectors is int64 .*; expected floating-point"),
        (np.array([[1, np.inf, 0]]), None, "vectors: row 0, column 1 is infinite"),
        (np.ones((2, 3)), [1], "ids has 1 entries for 2 vectors"),
        (np.ones((2, 3)), [], "ids has 0 entries for 2 vectors"),
        (np.ones((2, 3)), [5, 5], r"ids\[1\] is 5, which is there already"),
        (np.ones((2, 3)), [5, -1], r"ids\[1\] is -1; expected 0 or more"),
        (np.ones((2, 3)), [5, 2**31], "ids holds numbers that do not fit in int32"),
        (np.ones((2, 3)), [0.5, 1], "ids is float64"),
    ],
)
def test_what_cannot_be_added_is_refused(
    vectors: np.ndarray, ids: list | None, message: str
) -> None:
    index = HNSW(3)
    with pytest.raises(InputError, match=message):
        index.add(vectors, ids)
    assert len(index) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"queries": np.ones((1, 2))}, "queries has 2 columns; the index has 3 dimensions"),
        ({"queries": np.array([[np.nan, 0, 0]])}, "queries: row 0, column 0 is nan"),
        ({"k": 0}, "k is 0; expected 1 or more"),
        ({"ef": 0}, "ef is 0; expected 1 or more"),
        ({"ef": [5, 5, 5]}, "ef has 3 entries; expected one, or one for each of 1 queries"),
        ({"ef": 0.5}, "ef is float64"),
        ({"mask": np.ones(2, bool)}, "mask has 2 entries; expected 3"),
        ({"mask": np.ones(0, bool)}, "mask has 0 entries; expected 3"),
        ({"mask": np.ones(3)}, "mask is float64 .*; expected booleans"),
    ],
)
def test_what_cannot_be_searched_is_refused(arguments: dict[str, object], message: str) -> None:
    index = built(np.eye(3, dtype=np.float32))
    with pytest.raises(InputError, match=message):
        index.search(**{"queries": np.ones((1, 3)), "k": 1, **arguments})


@pytest.mark.parametrize("ids", [[3], [0, 0], [-1], [0, 99]])
def test_what_is_not_there_cannot_be_deleted(ids: list[int]) -> None:
    index = built(np.eye(3, dtype=np.float32))
    with pytest.raises(InputError, match="which is not in the index; nothing was deleted"):
        index.delete(ids)
    assert len(index) == 3


@pytest.mark.skipif(os.name == "nt", reason="there is no such timer")
def test_an_index_whose_growth_was_interrupted_can_be_saved_and_grown_again(tmp_path: Path) -> None:
    vectors = np.random.default_rng(5).standard_normal((20_000, 16), np.float32)
    index = HNSW(16, threads=1)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.15)
        with pytest.raises(KeyboardInterrupt):
            index.add(vectors)
    finally:
        signal.signal(signal.SIGALRM, before)
    kept = len(index)
    assert kept % 1024 == 0
    assert kept < len(vectors)
    index.save(tmp_path / "part.hnsw")
    assert len(HNSW.load(tmp_path / "part.hnsw")) == kept
    index.add(vectors[kept : kept + 2048])
    whole = HNSW(16, threads=1)
    whole.add(vectors[:kept])
    whole.add(vectors[kept : kept + 2048])
    index.save(tmp_path / "again.hnsw")
    whole.save(tmp_path / "whole.hnsw")
    assert (tmp_path / "again.hnsw").read_bytes() == (tmp_path / "whole.hnsw").read_bytes()
