"""Datasets of tickets: written from anything, opened as a corpus, whole or not there."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.corpus.builders import record, write_json

from fastrecall import corpus as room
from fastrecall.corpus import load_corpus, write_dataset
from fastrecall.corpus.dataset import rows
from fastrecall.errors import CacheError, CorpusError, InputError
from fastrecall.types import Corpus

DEMO = "demo:2000"
ALL = {"window_prs": None, "window_issues": None}


@pytest.fixture(scope="module")
def known() -> Corpus:
    return load_corpus(DEMO, **ALL)


@pytest.fixture
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "FILE_ROWS", 700)


def assert_same(stored: Corpus, known: Corpus) -> None:
    assert list(stored.tickets) == list(known.tickets)
    assert replace(stored, tickets=()) == replace(known, tickets=())
    assert stored.repos == known.repos
    assert (stored.is_pr == known.is_pr).all()
    assert (stored.created_at == known.created_at).all()


@pytest.mark.usefixtures("small_files")
def test_a_dataset_of_many_files_is_the_same_corpus(tmp_path: Path, known: Corpus) -> None:
    written = write_dataset(DEMO, tmp_path)
    assert len(list(tmp_path.glob("*.parquet"))) == 3
    assert_same(written, known)
    assert_same(load_corpus(tmp_path), known)
    stored = load_corpus(tmp_path).tickets
    for node in (0, len(known) - 1, -1, 699, 700, 1024, 3):
        assert stored[node] == known.tickets[node]
    assert list(stored[5:2000:400]) == list(known.tickets[5:2000:400])
    with pytest.raises(IndexError):
        stored[len(known)]


@pytest.mark.usefixtures("small_files")
def test_everything_said_of_tickets_is_the_same(tmp_path: Path, known: Corpus) -> None:
    stored = write_dataset(DEMO, tmp_path)
    for node, ticket in enumerate(known.tickets):
        assert stored.node(ticket.repo, ticket.kind, ticket.number) == node
        assert stored.columns.ref(node) == ticket.ref
    assert stored.node("other/repo", "pr", 1) is None
    assert stored.node(known.repos[0], "pr", 2**40) is None
    assert list(room.node_texts(stored)) == list(room.node_texts(known))
    assert list(room.node_texts(stored)[100:103]) == list(room.node_texts(known)[100:103])
    links, of_known = room.find_links(stored), room.find_links(known)
    assert links.issues.tolist() == of_known.issues.tolist()
    assert links.prs.tolist() == of_known.prs.tolist()
    assert links.sources.tolist() == of_known.sources.tolist()
    assert links.notes == of_known.notes
    assert room.gold_from_links(stored, links) == room.gold_from_links(known, of_known)
    assert room.find_duplicates(stored) == room.find_duplicates(known)
    assert room.find_reverts(stored) == room.find_reverts(known)
    assert room.find_mentions(stored) == room.find_mentions(known)


@pytest.mark.parametrize("name", ["tls13-spec", "mls-protocol", "oblivious-http"])
def test_real_corpora_are_the_same(tmp_path: Path, corpora: Path, name: str) -> None:
    source = corpora / name
    assert_same(write_dataset(source, tmp_path / "set"), load_corpus(source, **ALL))
    options = {"window_prs": 40, "window_issues": 30, "author_filter": None}
    known = load_corpus(source, **options)
    assert_same(write_dataset(source, tmp_path / "set", **options), known)
    assert_same(load_corpus(tmp_path / "set", **options), known)


def test_tickets_are_small_to_send(tmp_path: Path, known: Corpus) -> None:
    texts = room.node_texts(write_dataset(DEMO, tmp_path))
    texts[7]
    sent = pickle.dumps(texts)
    assert len(sent) < 5000
    assert list(pickle.loads(sent)) == list(room.node_texts(known))


def test_a_dataset_is_a_source_itself(tmp_path: Path, known: Corpus) -> None:
    write_dataset(DEMO, tmp_path / "all")
    again = write_dataset(tmp_path / "all", tmp_path / "again")
    assert_same(again, replace(known, cut=again.cut))


def test_another_cut_than_the_stored_one_is_refused(tmp_path: Path) -> None:
    write_dataset(DEMO, tmp_path, window_prs=100)
    load_corpus(tmp_path)
    with pytest.raises(CorpusError, match="was written with 100 PRs, all issues"):
        load_corpus(tmp_path, window_prs=50)
    with pytest.raises(InputError, match="not both"):
        load_corpus(tmp_path, prs="prs.json", issues="issues.json")


def test_small_memory_changes_nothing(
    tmp_path: Path, known: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fastrecall.corpus.dataset.write._LEAST_MEMORY", 1)
    assert_same(write_dataset(DEMO, tmp_path, memory="100kB"), known)


def test_what_was_there_stays_until_the_new_one_is_whole(tmp_path: Path, known: Corpus) -> None:
    folder = tmp_path / "set"
    write_dataset(DEMO, folder)
    broken = tmp_path / "prs.json"
    broken.write_text('[{"number": 1, "createdAt": "2024-01-01T00:00:00Z"}, {"number": 2}]')
    with pytest.raises(CorpusError, match="record 2"):
        write_dataset(broken, folder)
    assert_same(load_corpus(folder), known)
    other = write_json(tmp_path / "issues.json", [record(1)])
    assert len(write_dataset(other, folder)) == 1
    assert len(list(folder.glob("*.parquet"))) == 1
    assert len(list(folder.glob("*.npy"))) == 3


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names of files are Unicode there")
def test_a_name_that_is_no_unicode_is_kept(tmp_path: Path) -> None:
    source = tmp_path / os.fsdecode(b"caf\xe9")
    source.mkdir()
    write_json(source / "issues.json", [record(1)])
    assert write_dataset(source, tmp_path / "set").name == source.name
    assert load_corpus(tmp_path / "set").name == source.name


def test_other_folders_are_left_alone(tmp_path: Path) -> None:
    source = write_json(tmp_path / "issues.json", [record(1)])
    with pytest.raises(InputError, match="holds the source itself"):
        write_dataset(source, tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    (other / "letter.txt").write_text("dear")
    with pytest.raises(CacheError, match=r"holds other things \(letter.txt\)"):
        write_dataset(source, other)
    assert [path.name for path in other.iterdir()] == ["letter.txt"]
    (other / "codes-mine.npy").write_bytes(b"mine")
    (other / ".lock").touch()
    with pytest.raises(CacheError, match="holds other things"):
        write_dataset(source, other)
    assert (other / "codes-mine.npy").exists()


def test_a_failure_leaves_nothing_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fastrecall.corpus.dataset import write

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(write, "checksum", full)
    with pytest.raises(CacheError, match="No space left on device"):
        write_dataset("demo:200", tmp_path / "set")
    assert [path.name for path in (tmp_path / "set").iterdir()] == [".lock"]


def test_an_interrupt_at_the_very_end_leaves_the_new_dataset_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fastrecall.corpus.dataset import write

    write_dataset("demo:200", tmp_path)
    unlink = Path.unlink

    def interrupted(path: Path, missing_ok: bool = False) -> None:
        if path.suffix == ".parquet":
            raise KeyboardInterrupt
        unlink(path, missing_ok)

    monkeypatch.setattr(write.Path, "unlink", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_dataset("demo:300", tmp_path)
    assert_same(load_corpus(tmp_path), load_corpus("demo:300", **ALL))
    monkeypatch.undo()
    write_dataset("demo:300", tmp_path)
    assert len(list(tmp_path.glob("*.parquet"))) == 1


def test_what_killed_writers_left_is_removed(tmp_path: Path) -> None:
    write_dataset("demo:200", tmp_path)
    leftovers = [".tickets-1f-000000.parquet.x", ".codes-1f.npy.x", ".dataset.json.x"]
    for name in leftovers:
        (tmp_path / name).write_bytes(b"part")
    write_dataset("demo:200", tmp_path)
    assert {path.name for path in tmp_path.iterdir()}.isdisjoint(leftovers)


def test_a_source_that_changes_meanwhile_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fastrecall.corpus.dataset import write

    source = write_json(tmp_path / "issues.json", [record(n) for n in range(1, 9)])
    choose = write.choose

    def meddle(*args: object, **options: object) -> object:
        write_json(source, [record(n) for n in range(2, 9)])
        return choose(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(write, "choose", meddle)
    with pytest.raises(CorpusError, match="was changed while it was read"):
        write_dataset(source, tmp_path / "set")
    assert not (tmp_path / "set" / "dataset.json").exists()


@pytest.mark.parametrize("how", ["flip", "cut", "gone"])
@pytest.mark.parametrize("pattern", ["*.parquet", "codes-*.npy", "created_at-*.npy", "*.json"])
def test_damage_is_told_in_one_sentence(tmp_path: Path, pattern: str, how: str) -> None:
    write_dataset("demo:200", tmp_path)
    [path] = tmp_path.glob(pattern)
    if how == "gone" and pattern == "*.json":
        # Without it, it is any folder of Parquet files: told only while it is made.
        (tmp_path / ".building").mkdir()
    data = path.read_bytes()
    middle = len(data) // 2
    if how == "flip":
        path.write_bytes(data[:middle] + bytes([data[middle] ^ 4]) + data[middle + 1 :])
    elif how == "cut":
        path.write_bytes(data[:middle])
    else:
        path.unlink()
    with pytest.raises(CorpusError, match=r"(damaged|begun).*fastrecall dataset") as told:
        list(load_corpus(tmp_path).tickets)
    assert (path.name if how != "gone" else tmp_path.name) in str(told.value)


def test_a_dataset_of_another_format_is_told(tmp_path: Path) -> None:
    write_dataset("demo:200", tmp_path)
    place = tmp_path / "dataset.json"
    place.write_text(json.dumps(json.loads(place.read_text()) | {"format": 99}))
    with pytest.raises(CorpusError, match="has format 99, and this version"):
        load_corpus(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="kills as POSIX does")
def test_killed_work_starts_again(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    code = (
        "import sys; from fastrecall.corpus import write_dataset as w; w('demo:4000', sys.argv[1])"
    )
    for stage in ("keys", "rows", None):
        process = subprocess.Popen([sys.executable, "-c", code, str(folder)], env=os.environ.copy())
        until = time.monotonic() + 60
        while time.monotonic() < until and process.poll() is None:
            if stage is None:
                if list(folder.glob("*.parquet")):
                    break
            elif (folder / ".building" / stage).exists():
                break
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if stage is None and (folder / "dataset.json").exists():
            continue  # it was done faster than it could be killed
        with pytest.raises(CorpusError, match="begun and not finished"):
            load_corpus(folder)
    known = load_corpus("demo:4000", **ALL)
    assert_same(write_dataset("demo:4000", folder), known)
    left = {path.name.partition("-")[0] for path in folder.iterdir()}
    assert left == {"dataset.json", "tickets", "codes", "created_at", "untitled", ".lock"}
