"""Keyword search block by block against the index that holds everything, bit by bit."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.children import environment

from fastrecall import _core
from fastrecall.errors import CacheError, InputError
from fastrecall.search import tokens
from fastrecall.search.blocks import BlockedBM25, counting
from fastrecall.search.bm25 import BM25, posting_lists

VOCABULARY = [f"w{i}" for i in range(40)] + ["fooBar", "a::b", "x_y", "1.3", "死锁", "é", "#12"]


def random_texts(count, seed, longest=25):
    random = np.random.default_rng(seed)
    odds = 1 / np.arange(1, len(VOCABULARY) + 1)
    return [
        " ".join(random.choice(VOCABULARY, size=random.integers(0, longest), p=odds / odds.sum()))
        for _ in range(count)
    ]


QUERIES = [*random_texts(40, 2, 8), "", "nowhere", "w1 w1 nowhere w1 w2", "w39 fooBar"]


@pytest.fixture
def cut(monkeypatch):
    """Makes blocks of so many texts, and tasks of so many."""

    def into(block, task=10**9):
        monkeypatch.setattr(counting, "_bytes_to_count", lambda _: 10**6 // max(1, block))
        monkeypatch.setattr(counting, "TEXTS_OF_TASK", max(1, task))

    return into


def blocked(texts, **options):
    return BlockedBM25(texts, **{"memory": 10**6, **options})


def assert_equal(got, expected):
    np.testing.assert_array_equal(got[0], expected[0])
    np.testing.assert_array_equal(got[1].view(np.uint32), expected[1].view(np.uint32))


@pytest.mark.parametrize("n", [0, 1, 2, 60])
@pytest.mark.parametrize("block", [1, 7, 59, 60, 61])
@pytest.mark.parametrize("k", [1, 5, 100])
def test_every_size_of_block_gives_the_answer_of_one_index(cut, n, block, k):
    cut(block, 40)
    texts = random_texts(n, 1)
    index, whole = blocked(texts), BM25(texts)
    assert len(index) == n
    assert_equal(index.search(QUERIES, k), whole.search(QUERIES, k))
    for query in QUERIES[::9]:
        np.testing.assert_array_equal(index.scores(query), whole.scores(query))


def test_blocks_are_cut_as_asked(cut, tmp_path):
    cut(7, 40)
    blocked(random_texts(60, 1), folder=tmp_path)
    assert len(list(tmp_path.iterdir())) == 6 + 3


@pytest.mark.parametrize(("k1", "b"), [(0.0, 0.0), (2.0, 1.0), (0.9, 0.4)])
def test_other_formulas(cut, k1, b):
    cut(9)
    texts = random_texts(50, 3)
    got = blocked(texts, k1=k1, b=b).search(QUERIES, 9)
    assert_equal(got, BM25(texts, k1=k1, b=b).search(QUERIES, 9))


def test_ties_across_blocks_go_to_the_lower_node(cut):
    cut(3)
    ids, _ = blocked(["crash now"] * 20).search(["crash"], 8)
    assert ids.tolist() == [list(range(8))]


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_what_does_not_exist_and_what_is_not_asked_for(cut, threads):
    cut(11)
    texts = random_texts(101, 4)
    index, whole = blocked(texts, threads=threads), BM25(texts)
    random = np.random.default_rng(5)
    count = len(QUERIES)
    lists = [list(range(i % 101)) for i in range(count)]
    flags = random.random((count, 101)) < 0.4
    for exclude in (None, random.integers(-1, 101, count), lists):
        for visible in (None, flags[0], flags):
            for mask in (None, ~flags[1], flags[::-1]):
                given = {"exclude": exclude, "visible": visible, "mask": mask}
                assert_equal(index.search(QUERIES, 20, **given), whole.search(QUERIES, 20, **given))
    np.testing.assert_array_equal(
        index.scores("w1 w5", exclude=[3, 50, 99], visible=flags[0]),
        whole.scores("w1 w5", exclude=[3, 50, 99], visible=flags[0]),
    )


def test_nothing_exists(cut):
    cut(4)
    ids, _ = blocked(random_texts(9, 6)).search(["w1"], 3, visible=np.zeros(9, np.bool_))
    assert ids.tolist() == [[-1, -1, -1]]


def test_fields_with_weights(cut):
    cut(13)
    fields = {"title": random_texts(70, 7, 6), "body": random_texts(70, 8)}
    options = {"weights": {"title": 2.3, "body": 0.7}, "terms": tokens.stems}
    got = blocked(fields, **options).search(QUERIES, 9, exclude=np.arange(len(QUERIES)))
    assert_equal(got, BM25(fields, **options).search(QUERIES, 9, exclude=np.arange(len(QUERIES))))


def test_masked_references(cut):
    cut(2)
    texts = ["crash #12", "crash", "see #12"]
    assert blocked(texts, mask_references=True).search(["#12"], 1)[0].tolist() == [[-1]]
    assert blocked(texts).search(["#12"], 1)[0].tolist() == [[0]]


def test_batches_that_do_not_fit_are_asked_in_parts(monkeypatch, cut):
    cut(30)
    monkeypatch.setattr(BlockedBM25, "_most_queries", lambda *_: 7)
    texts = random_texts(90, 9)
    exclude = np.arange(len(QUERIES))
    visible = np.random.default_rng(1).random((len(QUERIES), 90)) < 0.5
    got = blocked(texts).search(QUERIES, 9, exclude=exclude, visible=visible)
    assert_equal(got, BM25(texts).search(QUERIES, 9, exclude=exclude, visible=visible))


def test_counted_blocks_are_used_again_unless_they_are_other_ones(cut, tmp_path, monkeypatch):
    cut(10, 35)
    texts = random_texts(80, 10)
    blocked(texts, folder=tmp_path)
    counted = []
    inner = counting.posting_lists
    monkeypatch.setattr(
        counting, "posting_lists", lambda some, **how: counted.append(some) or inner(some, **how)
    )
    files = sorted(tmp_path.iterdir())
    assert_equal(blocked(texts, folder=tmp_path).search(QUERIES, 9), BM25(texts).search(QUERIES, 9))
    assert counted == []

    files[0].unlink()
    files[1].write_bytes(files[1].read_bytes()[:-3])
    files[2].write_bytes(files[3].read_bytes())
    changed = bytearray(files[4].read_bytes())
    changed[len(changed) // 2] ^= 1
    files[4].write_bytes(changed)
    assert_equal(blocked(texts, folder=tmp_path).search(QUERIES, 9), BM25(texts).search(QUERIES, 9))
    assert len(counted) == 4

    texts[79] += " w1"
    assert_equal(blocked(texts, folder=tmp_path).search(QUERIES, 9), BM25(texts).search(QUERIES, 9))
    assert len(counted) == 5
    options = {"terms": tokens.stems}
    got = blocked(texts, folder=tmp_path, **options).search(QUERIES, 9)
    assert_equal(got, BM25(texts, **options).search(QUERIES, 9))
    assert len(counted) == 5 + len(files)


def test_a_relative_folder_is_found_from_another_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    index = blocked(["a b", "b"], folder="words")
    monkeypatch.chdir("/")
    assert index.search(["a"], 1)[0].tolist() == [[0]]


def test_a_temporary_folder_goes_with_the_index():
    index = blocked(["a"])
    folder = index._blocks[0].file.path.parent
    assert folder.is_dir()
    del index
    gc.collect()
    assert not folder.exists()


@pytest.mark.parametrize("damage", ["gone", "cut off", "empty"])
def test_a_file_that_is_lost_is_told(tmp_path, damage):
    index = blocked(random_texts(20, 11), folder=tmp_path)
    [file] = tmp_path.iterdir()
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[:-30] if damage == "cut off" else b"")
    with pytest.raises(CacheError, match="postings-0"):
        index.search(["w0 w1 w2 w3"], 2)


@pytest.mark.parametrize("other", [{"texts": random_texts(20, 12)}, {"terms": tokens.stems}])
def test_an_index_whose_folder_another_one_took_says_so(tmp_path, other):
    texts = random_texts(20, 11)
    index = blocked(texts, folder=tmp_path)
    blocked(**{"texts": texts, "folder": tmp_path, **other})
    for ask in (lambda: index.search(["w0 w1"], 2), lambda: index.scores("w0")):
        with pytest.raises(CacheError, match=r"postings-0.*any more; give each index a folder"):
            ask()
    index = blocked(texts, folder=tmp_path)
    assert_equal(index.search(QUERIES, 3), BM25(texts).search(QUERIES, 3))


class Shrunk(list):
    """Texts that became fewer since their number was asked for."""

    def __len__(self):
        return super().__len__() + 1


def test_texts_that_become_fewer_are_told():
    with pytest.raises(InputError, match="texts 0 to 6: 5 came; the texts changed"):
        blocked(Shrunk(random_texts(5, 13)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k is 0"),
        ({"exclude": [9]}, "exclude holds id 9; expected ids in 0..9"),
        ({"visible": np.ones(8, np.bool_)}, r"visible is bool \(8,\)"),
        ({"mask": np.ones((2, 9), np.bool_)}, r"mask is bool \(2, 9\)"),
    ],
)
def test_what_does_not_fit_is_told(options, message):
    with pytest.raises(InputError, match=message):
        blocked(random_texts(9, 12)).search(["w1"], **{"k": 3, **options})


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        (([2, 2], [[3]], [1]), "does not fit"),
        (([2], [[3, 4]], [1]), "does not fit"),
        (([2], [[3]], [1, 1]), "does not fit"),
        (([2], [[3]], [3]), "3 of 2 texts hold a term"),
        (([2], [[3]], [-1]), "-1 of 2 texts hold a term"),
        (([2], [3], [1]), "expected .queries, fields."),
    ],
)
def test_the_engine_refuses_counts_that_make_no_sense(counts, message):
    lists, vocabulary = posting_lists(["a b", "b"])
    postings = _core.Postings(*lists, k1=1.2, b=0.75)
    given = tuple(np.array(part, np.int64) for part in counts)
    with pytest.raises(InputError, match=message):
        postings.search([0, 1], [vocabulary["a"]], [1], 1, collection=given)


def test_options_out_of_range_are_told():
    with pytest.raises(InputError, match="k1 is -1"):
        blocked(["a"], k1=-1)
    with pytest.raises(InputError, match="different lengths"):
        blocked({"a": ["x"], "b": []})
    with pytest.raises(InputError, match="unknown fields"):
        blocked(["a"], weights={"title": 2.0})


MEASURED = """
import random, sys
from fastrecall.search.blocks import BlockedBM25
from fastrecall.search.tokens import terms
def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if "VmHWM" in line)
dice = random.Random(1)
letters = {"words": "abcdefgh", "pairs": "a1b2c3d4", "han": [chr(c) for c in range(0x4E00, 0x5A00)]}
width = {"words": 6, "pairs": 2, "han": 3}[sys.argv[1]]
class Texts:
    def __len__(self):
        return 12_000
    def __getitem__(self, rows):
        dice.seed(rows.start)
        return [
            " ".join("".join(dice.choices(letters[sys.argv[1]], k=width)) for _ in range(60))
            for _ in range(*rows.indices(12_000))
        ]
BlockedBM25(["some word"], memory="8MB").search(["word"], 1)
open("/proc/self/clear_refs", "w").write("5")
before = peak()
# Without the cache of words, which is not counted.
index = BlockedBM25(Texts(), memory=int(sys.argv[2]), terms=terms.__wrapped__)
index.search(["abc abd a1 b2", "\\u4e00\\u4e01"] * 10, 100)
print((peak() - before) * 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="Linux tells the peak")
@pytest.mark.parametrize("kind", ["words", "pairs", "han"])
def test_no_more_memory_is_taken_than_was_given(kind):
    memory = 60_000_000
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, kind, str(memory)],
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert memory / 8 < int(done.stdout) < memory
