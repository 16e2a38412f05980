"""Every kind of file that fastrecall writes: how one comes to be, and what it says.

A new kind is one entry in `KINDS`; all faults are then tried on it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fastrecall._files import atomic_write
from fastrecall.config import config_init, load_config
from fastrecall.corpus import load_corpus, make_corpus
from fastrecall.corpus.fetch import journal as pages
from fastrecall.corpus.fetch import store
from fastrecall.corpus.gold import GoldPair, make_gold, read_gold, write_gold
from fastrecall.dataset import VectorDataset, VectorWriter
from fastrecall.dataset.manifest import MANIFEST
from fastrecall.embedding import ModelInfo
from fastrecall.embedding.cache import VectorCache
from fastrecall.embedding.digest import sha256_of
from fastrecall.errors import ModelError
from fastrecall.measure import trec
from fastrecall.search.exchanges import AnswerCache, Recording, Replay
from fastrecall.search.hnsw import HNSW
from fastrecall.search.index import build, place
from fastrecall.search.index.folder import open_build
from fastrecall.search.llm import Exchange
from fastrecall.serve.counts import Counts
from fastrecall.serve.journal import Journal
from fastrecall.study import Record
from fastrecall.types import Ticket

Tell = Callable[[str], None]
"""Called with each piece of work that was acknowledged, as soon as it was."""


def _whole_state(state: Any, whole: Any) -> bool:
    return bool(state == whole)


@dataclass(frozen=True)
class Kind:
    """A kind of file.

    ``before`` makes what is there at first, ``write`` does the work, ``read`` tells what the files
    say. States are compared by ``==``; those of files that grow are sets, of which a part may be
    there (``grows``), or add up with every call (``adds``). ``fine`` says whether damaged files
    still say nothing wrong. In formats of other programs (``checks`` false) only that is noticed
    which cannot be read. Some are never read back (``reads``), or only by the one who writes them
    (``alone``); some work gets done without being able to write (``must_write`` false). What is
    ``heavy`` is struck at fewer places.
    """

    name: str
    write: Callable[[Path, Tell], None]
    read: Callable[[Path], Any]
    before: Callable[[Path], None] = lambda folder: None
    pattern: str = "**/*"
    grows: bool = False
    checks: bool = True
    fine: Callable[[Any, Any], bool] = _whole_state
    adds: bool = False
    reads: bool = True
    alone: bool = False
    must_write: bool = True
    heavy: bool = False

    def files(self, folder: Path) -> list[Path]:
        """The files to damage."""
        paths = [path for path in sorted(folder.glob(self.pattern)) if path.is_file()]
        return [
            path for path in paths if path.name not in ("lock", ".lock") and path.stat().st_size
        ]


# Vector cache

_DIM = 12
_MODEL = ModelInfo(name="test", id="test", source="folder", dim=_DIM, sha256="abc")


def _vectors(texts: list[str]) -> np.ndarray:
    """Any function of the text: it tells whether a vector is the right one."""
    seeds = [hashlib.sha256(text.encode()).digest() for text in texts]
    rows = [np.frombuffer(seed + seed[:16], np.uint32) for seed in seeds]
    return (np.stack(rows).astype(np.float32)) / np.float32(2**32)


def _embed(folder: Path, texts: list[str], tell: Tell = lambda _: None) -> None:
    cache = VectorCache(folder, _MODEL, "")
    _, found = cache.lookup(cache.keys(texts), _DIM)
    missing = [text for text, there in zip(texts, found, strict=True) if not there]
    if not missing:
        return
    with cache.writer() as writer:
        for start in range(0, len(missing), 4):
            part = missing[start : start + 4]
            writer.add(cache.keys(part), _vectors(part))
            for text in part:
                tell(text)


_OLD, _NEW = [f"old {n}" for n in range(9)], [f"new {n}" for n in range(10)]


def _cached(folder: Path) -> set[str]:
    texts = [*_OLD, *_NEW]
    cache = VectorCache(folder, _MODEL, "")
    vectors, found = cache.lookup(cache.keys(texts), _DIM)
    assert np.array_equal(vectors[found], _vectors(texts)[found]), "a wrong vector"
    return {text for text, there in zip(texts, found, strict=True) if there}


def _many_segments(folder: Path) -> None:
    for text in _OLD:
        _embed(folder, [text])


# Datasets of vectors


def _dataset(folder: Path, rows: int) -> None:
    with VectorWriter(folder / "vectors", dim=_DIM, rows_per_file=4) as writer:
        for row in range(writer.rows, rows):
            writer.append(_vectors([f"row {row}"]))


def _write_dataset(folder: Path, _tell: Tell) -> None:
    if _dataset_read(folder) is None:
        _dataset(folder, 10)


def _begin_dataset(folder: Path) -> None:
    with (
        contextlib.suppress(InterruptedError),
        VectorWriter(folder / "vectors", dim=_DIM, rows_per_file=4) as writer,
    ):
        writer.append(_vectors([f"row {row}" for row in range(4)]))
        raise InterruptedError


def _dataset_read(folder: Path) -> Any:
    if not (folder / "vectors" / MANIFEST).exists():
        return None
    dataset = VectorDataset(folder / "vectors")
    return dataset.read(0, len(dataset)).tolist()


# Index folder, HNSW


def _tickets(count: int) -> list[Ticket]:
    return [
        ticket
        for n in range(1, count + 1)
        for ticket in (
            Ticket("o/r", "issue", 2 * n, f"Symptom {n} of ÄÖ", "It fails. " * n, 86400 * n),
            Ticket("o/r", "pr", 2 * n + 1, f"Change {n}", f"Fixes #{2 * n}", 86400 * n + 9),
        )
    ]


def _index(folder: Path, count: int) -> None:
    corpus = make_corpus(_tickets(count), name="o/r")
    build.build_index(corpus, folder / "index", model="fake", cache=False, threads=1)


def _big_index(folder: Path, count: int) -> None:
    border, place.BEST_UP_TO = place.BEST_UP_TO, 0
    try:
        _index(folder, count)
    finally:
        place.BEST_UP_TO = border


def _opened(folder: Path) -> Any:
    manifest, arrays, ann = open_build(folder / "index")
    shown = {name: (str(array.dtype), array.tolist()) for name, array in arrays.items()}
    del shown["vectors"]
    found = None if ann is None else ann.search(arrays["vectors"], 3)[0].tolist()
    return json.dumps(
        [dict(manifest.corpus), dict(manifest.closeness), shown, arrays["vectors"].sum(), found],
        default=float,
    )


def _hnsw(folder: Path, count: int) -> None:
    index = HNSW(8, seed=count, threads=1)
    index.add(np.random.default_rng(count).standard_normal((count, 8), np.float32))
    index.save(folder / "vectors.hnsw")


def _hnsw_answers(folder: Path) -> Any:
    path = folder / "vectors.hnsw"
    if not path.exists():
        return None
    index = HNSW.load(path, threads=1)
    ids, scores = index.search(np.eye(8, dtype=np.float32), 5)
    return len(index), ids.tolist(), scores.tolist()


# Memory


def _remember(folder: Path, tell: Tell) -> None:
    journal = Journal(folder)
    journal.refresh()
    there = {entry["id"] for entry in journal.entries}
    for name in ("third", "fourth"):
        if name not in there:
            journal.append({"id": name, "text": f"Запись {name} 🔥"})
        tell(name)


def _remembered(folder: Path) -> set[str]:
    journal = Journal(folder)
    journal.refresh()
    for entry in journal.entries:
        assert entry["text"] == f"Запись {entry['id']} 🔥", "a wrong note"
    return {entry["id"] for entry in journal.entries}


def _two_notes(folder: Path) -> None:
    for name in ("first", "second"):
        Journal(folder).append({"id": name, "text": f"Запись {name} 🔥"})


def _forget(folder: Path, tell: Tell) -> None:
    Journal(folder).remove("first")


def _count(folder: Path, items: int) -> None:
    counts = Counts(folder)
    counts.count(items=items, day="2024-05-31")
    counts.save()


def _counted(folder: Path) -> Any:
    counts = Counts(folder)
    return vars(counts.ever()), counts.damage


def _counts_fine(state: Any, whole: Any) -> bool:
    return bool(state == whole or state[1])


# Fetch

_HEADER = pages.Header(since=None, comments=False, commits=False, base="")


def _page(n: int) -> pages.Page:
    nodes = [{"number": n, "title": f"Title {n} \ud800 é", "body": "x" * 300}]
    return pages.Page("issue", "a/b", 9, f"cursor {n}", True, 1000 + n, nodes)


def _fetch_pages(folder: Path, first: int, last: int, tell: Tell = lambda _: None) -> None:
    with (
        store.Store(folder).lock(),
        pages.open_journal(folder / "journal.jsonl", _HEADER) as journal,
    ):
        for n in range(journal.count + 1, last + 1):
            journal.add(_page(n))
            tell(str(n))


def _pages(folder: Path) -> set[str]:
    if not (folder / "journal.jsonl").exists():
        return set()
    with pages.open_journal(folder / "journal.jsonl", _HEADER) as journal:
        found = list(journal.pages())
    for n, page in enumerate(found, 1):
        assert page == _page(n), "a wrong page"
    return {page.nodes[0]["title"].split()[1] for page in found}


def _store(folder: Path, count: int) -> None:
    there = store.Store.of("github.com", "o/r")
    manifest = store.Manifest(repository="o/r", source="github.com", cursor=4711 + count)
    with there.lock():
        there.replace(_tickets(count), manifest)


def _stored(folder: Path) -> Any:
    there = store.Store.of("github.com", "o/r")
    manifest, again = there.manifest(), None
    while manifest is not None:
        corpus = load_corpus("o/r")
        again = there.manifest()
        if manifest == again:
            return manifest.cursor, manifest.counts, corpus.fingerprint
        manifest = again  # written anew meanwhile
    return None


# Records, runs, gold, settings


def _record(n: int) -> Record:
    return Record(
        {
            "schema": 1,
            "settings": {"budget": 32},
            "protocols": {"published": {"arms": {"causal": {"hits": n, "rate": n / 99}}}},
            "queries": [{"issue": i, "ranks": {"published": {"causal": n}}} for i in range(5)],
            "timings": {"total": 1.25},
        }
    )


def _record_read(folder: Path) -> Any:
    path = folder / "record.json"
    if not path.exists():
        return None
    # Times are told, not compared, and stand outside the digest.
    return {key: value for key, value in Record.load(path).items() if key != "timings"}


def _record_fine(state: Any, whole: Any) -> bool:
    """A flip in the name of the digest's key leaves a key more, and all others as they were."""
    return all(state.get(key) == value for key, value in whole.items())


def _gold(folder: Path, count: int) -> None:
    pairs = [GoldPair("", n, n + 100, f"Symptom, {n}", "Fix", 0, 1) for n in range(1, count + 1)]
    write_gold(folder / "gold.csv", make_gold(pairs, origin=""))


def _run(name: str) -> Callable[[Path, int], None]:
    def write(folder: Path, count: int) -> None:
        found = {f"q{n}": {f"d{m}": 10.0 / (m + 1) for m in range(4)} for n in range(count)}
        trec.write_run(folder / name, found)

    return write


def _run_read(name: str) -> Callable[[Path], Any]:
    def read(folder: Path) -> Any:
        path = folder / name
        if not path.exists():
            return None
        run = trec.read_run(path)
        return [list(run.queries), list(run.docs), run.ids.tolist(), run.scores.tolist()]

    return read


def _text(name: str) -> Callable[[Path], Any]:
    def read(folder: Path) -> Any:
        path = folder / name
        return path.read_text(encoding="utf-8") if path.exists() else None

    return read


def _page_html(folder: Path, count: int) -> None:
    with atomic_write(folder / "page.html") as file:
        for n in range(count):
            file.write(f"<p>{n}</p>\n" * 5000)


def _answers(folder: Path, count: int) -> None:
    for n in range(count):
        AnswerCache(folder).put(f"{n:02}ab", Exchange(f"[{n}]", output_tokens=n, cost=0.5))


def _answers_read(folder: Path) -> set[tuple[int, str]]:
    got = {n: AnswerCache(folder).get(f"{n:02}ab") for n in range(4)}
    return {(n, repr(one)) for n, one in got.items() if one is not None}


def _recording(folder: Path, count: int) -> None:
    recording = Recording(folder / "run.jsonl")
    for n in range(count):
        recording.add(f"query {n}", "hash", Exchange(f"[{n}, 2]", input_tokens=5), cached=False)
    recording.save()


def _replayed(folder: Path) -> Any:
    if not (folder / "run.jsonl").exists():
        return None
    replay = Replay(folder / "run.jsonl")
    first = replay.take("query 0", "hash")
    return repr([first, *(replay.take(f"query {n}", "hash") for n in (1, 2))])


def _digests(folder: Path, _count: int) -> None:
    (folder / "model").mkdir(exist_ok=True)
    for name in ("a", "b"):
        path = folder / "model" / name
        if not path.exists():
            path.write_text(name)
        sha256_of(path, cache=folder / "cache")


def _digests_read(folder: Path) -> Any:
    try:
        return [sha256_of(folder / "model" / name, cache=folder / "cache") for name in ("a", "b")]
    except OSError as error:  # whoever asks for a digest turns this into a sentence
        raise ModelError(f"cannot read the model: {error}") from error


def _model_files(folder: Path) -> None:
    (folder / "model").mkdir()
    for name in ("a", "b"):
        (folder / "model" / name).write_text(name)


def _settings(folder: Path, _tell: Tell) -> None:
    config_init(folder / "fastrecall.toml", overwrite=True)


def _settings_read(folder: Path) -> Any:
    path = folder / "fastrecall.toml"
    return load_config(path).eval if path.exists() else None


def _replacing(
    name: str,
    write: Callable[[Path, int], None],
    read: Callable[[Path], Any],
    **more: Any,
) -> Kind:
    """A kind that is replaced as a whole: three of something by four."""
    return Kind(
        name,
        write=lambda folder, _tell: write(folder, 4),
        read=read,
        before=lambda folder: write(folder, 3),
        **more,
    )


KINDS = (
    Kind(
        "vector cache",
        write=lambda folder, tell: _embed(folder, _NEW, tell),
        read=_cached,
        before=lambda folder: _embed(folder, _OLD),
        grows=True,
        fine=lambda state, whole: state <= whole,
    ),
    Kind(
        "vector cache, merged",
        write=lambda folder, tell: _embed(folder, _NEW[:1], tell),
        read=_cached,
        before=_many_segments,
        grows=True,
        fine=lambda state, whole: state <= whole,
    ),
    Kind("vector dataset", write=_write_dataset, read=_dataset_read, before=_begin_dataset),
    _replacing("index folder", _index, _opened, heavy=True),
    _replacing("index folder with HNSW", _big_index, _opened, pattern="**/ann.hnsw", heavy=True),
    _replacing("HNSW file", _hnsw, _hnsw_answers),
    Kind(
        "memory journal",
        write=_remember,
        read=_remembered,
        before=_two_notes,
        grows=True,
        fine=lambda state, whole: state <= whole,
    ),
    Kind(
        "memory journal, forget",
        write=_forget,
        read=_remembered,
        before=_two_notes,
        fine=lambda state, whole: state <= whole,
    ),
    _replacing("delivery counts", _count, _counted, fine=_counts_fine, adds=True),
    Kind(
        "fetch journal",
        write=lambda folder, tell: _fetch_pages(folder, 3, 5, tell),
        read=_pages,
        before=lambda folder: _fetch_pages(folder, 1, 2),
        alone=True,
        grows=True,
        fine=lambda state, whole: state <= whole,
    ),
    _replacing("fetched tickets", _store, _stored),
    _replacing(
        "record",
        lambda folder, n: _record(n).save(folder / "record.json"),
        _record_read,
        fine=_record_fine,
    ),
    _replacing("HTML page", _page_html, _text("page.html"), checks=False, reads=False),
    _replacing("gold CSV", _gold, lambda folder: read_gold(folder / "gold.csv"), checks=False),
    _replacing("TREC run", _run("run.txt"), _run_read("run.txt"), checks=False),
    _replacing("TREC run, gzip", _run("run.txt.gz"), _run_read("run.txt.gz")),
    Kind("settings", write=_settings, read=_settings_read, checks=False),
    _replacing(
        "LLM answer cache",
        _answers,
        _answers_read,
        grows=True,
        fine=lambda state, whole: state <= whole,
    ),
    _replacing("LLM recording", _recording, _replayed),
    Kind(
        "model digests",
        write=lambda folder, _tell: _digests(folder, 0),
        read=_digests_read,
        before=_model_files,
        pattern="cache/*",
        must_write=False,
    ),
)
"""All of them. Fetched tickets lie in the data folder, which whoever runs a fault sets."""
