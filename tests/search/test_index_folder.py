"""The index on disk: whole or not there, checked when opened, refused with a reason."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import fastrecall as fr
from fastrecall.corpus import find_links, make_corpus, node_texts, write_dataset
from fastrecall.corpus.table import to_table
from fastrecall.embedding import ModelInfo
from fastrecall.errors import CacheError, ModelError
from fastrecall.execution import LocalExecutor
from fastrecall.graph import Graph, closing_edges
from fastrecall.search.answer import Filters
from fastrecall.search.arms import ARMS, Finder, Queries, Reach
from fastrecall.search.best import Best
from fastrecall.search.hnsw import HNSW
from fastrecall.search.index import build as building
from fastrecall.search.index import opening
from fastrecall.search.index import place as place_room
from fastrecall.search.index.by_fusion import ByFusion
from fastrecall.search.index.closeness import FAR_SHARE
from fastrecall.search.index.opened import Index
from fastrecall.search.index.place import index_folder, read_manifest
from fastrecall.search.index.source import index_corpus
from fastrecall.search.memory import Memory
from fastrecall.search.nearest import Nearest
from fastrecall.types import Corpus, Ticket

SECRET = "ghp_" + "a1B2" * 9


def tickets(count: int) -> Corpus:
    made = [
        Ticket(
            "o/r", "issue", n, f"Crash {n} in parse_{n}", f"It crashes. {'ab' * n}", n, author="ann"
        )
        for n in range(1, count + 1)
    ]
    made += [
        Ticket("o/r", "pr", n + count, f"Guard {n}", f"Fixes #{n}", 10 + n, merged_at=99)
        for n in range(1, count + 1)
    ]
    return make_corpus(made, name="o/r")


def build(place: Path, corpus: Corpus | None = None) -> Path:
    fr.build_index(corpus or tickets(4), place, model="fake", cache=False)
    return place


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Index]:
    """The demo's index, by the number of tickets up to which evidence ranks."""
    made = {}
    for most in (100, 100_000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(place_room, "BEST_UP_TO", most)
            place = build(tmp_path_factory.mktemp("index"), fr.load_corpus("demo"))
        made[most] = fr.open_index(place)
    return made


def test_what_was_built_is_opened(tmp_path: Path) -> None:
    corpus = tickets(4)
    index = fr.open_index(build(tmp_path, corpus))
    assert len(index) == 8
    assert [ticket.title for ticket in index.tickets] == [t.title for t in corpus.tickets]
    first, last = index.tickets[0], index.tickets[7]
    assert (first.author, first.closed_at, first.kind) == ("ann", None, "issue")
    assert (last.merged_at, last.kind, last.ref) == (99, "pr", "o/r#8")
    assert index.closes.neighbours(2).ids.tolist() == [6]
    assert index.manifest.corpus["fingerprint"] == corpus.fingerprint


QUESTIONS = (
    "the snapshot is torn after a split",
    "Writes hang\nwhen the leader steps down while a follower is far behind",
    "as in #12: the snapshot of a split is torn",
)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("without", [None, 17, 900])
@pytest.mark.parametrize(("arm", "most"), [("best", 100_000), ("hybrid_causal", 100)])
def test_the_ranking_is_that_of_the_measured_arm(
    arm: str,
    most: int,
    without: int | None,
    question: str,
    indexes: dict[int, Index],
) -> None:
    """Of a fresh evaluation's parts and of an index on disk."""
    corpus, index = fr.load_corpus("demo"), indexes[most]
    texts = tuple(node_texts(corpus))
    memory = Memory(texts, fr.embed(texts, model="fake"), corpus.is_pr)
    links = find_links(corpus).of(*building.SERVED_LINKS)
    finder = Finder(
        memory,
        Graph.from_edges(closing_edges(links), nodes=len(corpus)),
        Queries(
            (question,),
            Nearest(memory, fr.embed([question], model="fake", kind="query")),
            exclude=None if without is None else np.array([without], np.int32),
        ),
        Reach(32),
        best=Best.of_corpus(corpus, links, embed=lambda t, kind: fr.embed(t, model="fake")),
    )
    [(_, expected)] = finder.run(ARMS[arm])
    filters = Filters(kind="pr") if arm == "best" else Filters()
    answers = fr.ask(index, question, k=20, filters=filters, without=without)
    assert answers.ranked_by == index.manifest.ranked_by == arm
    assert [answer.node for answer in answers.answers] == expected.ids[0, :20].tolist()


def test_issues_among_the_answers_change_no_order_of_prs(indexes: dict[int, Index]) -> None:
    index = indexes[100_000]
    for question in QUESTIONS:
        prs = [a.node for a in fr.ask(index, question, k=50, filters=Filters(kind="pr")).answers]
        issues = [
            a.node for a in fr.ask(index, question, k=50, filters=Filters(kind="issue")).answers
        ]
        mixed = [a.node for a in fr.ask(index, question, k=50).answers]
        assert [node for node in mixed if index.tickets.is_pr[node]] == prs[: len(mixed)][
            : sum(index.tickets.is_pr[mixed])
        ]
        assert {True, False} == set(index.tickets.is_pr[mixed].tolist())
        assert [node for node in mixed if not index.tickets.is_pr[node]] == issues[
            : sum(~index.tickets.is_pr[mixed])
        ]


def test_a_new_build_takes_the_place_of_the_old_one_that_stays_readable(tmp_path: Path) -> None:
    old = fr.open_index(build(tmp_path, tickets(4)))
    build(tmp_path, tickets(6))
    assert len(fr.open_index(tmp_path)) == 12
    assert old.tickets[7].number == 8
    assert len(list(tmp_path.glob("build-*"))) == 1


class FarAway(LocalExecutor):
    """Sends everything through pickle."""

    def map(self, function: Any, tasks: Iterable[Any], *, shared: Any) -> Iterator[Any]:
        there = pickle.loads(pickle.dumps(shared))
        for task in tasks:
            yield pickle.loads(pickle.dumps(function(there, task, 1)))


@pytest.mark.parametrize("most", [100, 100_000])
@pytest.mark.parametrize("options", [{"memory": "256MB"}, {"executor": FarAway(threads=1)}])
def test_an_index_built_from_files_is_the_same_to_the_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, options: dict[str, Any]
) -> None:
    monkeypatch.setattr(place_room, "BEST_UP_TO", most)
    made = [
        replace(ticket, title=f"{ticket.title} {SECRET}", body="") if node % 9 == 0 else ticket
        for node, ticket in enumerate(fr.load_corpus("demo:600").tickets)
    ]
    known = make_corpus(made, name="demo")
    (tmp_path / "tickets").mkdir()
    pq.write_table(to_table(made), tmp_path / "tickets" / "all.parquet")
    stored = write_dataset(tmp_path / "tickets", tmp_path / "set", author_filter=None)
    assert stored.fingerprint == known.fingerprint
    build(tmp_path / "known", known)
    fr.build_index(stored, tmp_path / "stored", model="fake", cache=False, **options)
    names = files_of(tmp_path / "known")
    assert [Path(name).name for name in files_of(tmp_path / "stored")] == [
        Path(name).name for name in names
    ]
    for name in names[1:]:
        [whole], [bounded] = (
            (tmp_path / place).glob(f"build-*/{Path(name).name}") for place in ("known", "stored")
        )
        assert bounded.read_bytes() == whole.read_bytes(), name
    [bounded] = (tmp_path / "stored").glob("build-*")
    assert {path.name for path in bounded.iterdir()} == {Path(name).name for name in names[1:]}


def test_a_build_that_fails_leaves_the_old_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(tmp_path)
    before = sorted(tmp_path.rglob("*"))

    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(building, "sampled", fail)
    with pytest.raises(MemoryError):
        build(tmp_path, tickets(6))
    assert sorted(tmp_path.rglob("*")) == before
    assert len(fr.open_index(tmp_path)) == 8


def test_a_reader_that_meets_a_new_build_starts_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fastrecall.search.index import folder

    build(tmp_path)
    real = folder.read_manifest
    reads = []

    def replaced_after_reading(place: Path) -> object:
        manifest = real(place)
        if not reads:
            reads.append(1)
            build(tmp_path, tickets(6))
        return manifest

    monkeypatch.setattr(folder, "read_manifest", replaced_after_reading)
    assert len(fr.open_index(tmp_path)) == 12


def files_of(place: Path) -> list[str]:
    manifest = read_manifest(place)
    assert manifest is not None
    return ["manifest.json", *(f"{manifest.build}/{name}" for name in manifest.files)]


def test_one_changed_byte_in_any_file_is_refused(tmp_path: Path) -> None:
    place = build(tmp_path / "index", tickets(2))
    for name in files_of(place):
        shutil.copytree(place, tmp_path / "copy")
        path = tmp_path / "copy" / name
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 0x01
        path.write_bytes(data)
        with pytest.raises(CacheError, match=r"damaged|reads format") as caught:
            fr.open_index(tmp_path / "copy")
        assert path.name in str(caught.value)
        shutil.rmtree(tmp_path / "copy")


@pytest.mark.parametrize("name", ["vectors.npy", "title_bytes.npy"])
def test_a_file_that_was_cut_or_lost_is_refused(tmp_path: Path, name: str) -> None:
    place = build(tmp_path)
    [path] = place.glob(f"build-*/{name}")
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CacheError, match="bytes, expected"):
        fr.open_index(place)
    path.unlink()
    with pytest.raises(CacheError, match=f"{name}.*missing"):
        fr.open_index(place)


@pytest.mark.parametrize("format", [1, 99])
def test_another_format_is_refused_with_the_command_that_builds_anew(
    tmp_path: Path, format: int
) -> None:
    place = tmp_path / "index"
    index_corpus("demo", place, model="fake", cache=False)
    document = json.loads((place / "manifest.json").read_text("utf-8"))
    del document["ranked_by"]
    (place / "manifest.json").write_text(json.dumps({**document, "format": format}), "utf-8")
    newer = "upgrade fastrecall, or " if format == 99 else ""
    said = rf"has format {format}, .* reads format 2; {newer}build it again: fastrecall index demo$"
    with pytest.raises(CacheError, match=said):
        fr.open_index(place)
    index_corpus("demo", place, model="fake", cache=False)
    assert len(fr.open_index(place)) == 1090


def test_where_there_is_no_index_the_command_is_named(tmp_path: Path) -> None:
    with pytest.raises(CacheError, match="there is no index; build one with: fastrecall index"):
        fr.open_index(tmp_path)


def test_another_model_is_refused_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = build(tmp_path)
    with pytest.raises(ModelError, match=r"made with another model: its sha256 is None, that of"):
        fr.open_index(place, model="minilm")

    def longer(name: str) -> ModelInfo:
        return replace(real(name), max_tokens=77)

    real = opening.resolve_model
    monkeypatch.setattr(opening, "resolve_model", longer)
    with pytest.raises(ModelError, match="its max_tokens is 0, that of fake is 77"):
        fr.open_index(place)


def test_two_builders_do_not_meet(tmp_path: Path) -> None:
    from fastrecall.search.index.folder import new_build

    with new_build(tmp_path), pytest.raises(CacheError, match="another process is building"):
        build(tmp_path)


def test_secrets_reach_no_file(tmp_path: Path) -> None:
    leaky = make_corpus(
        [Ticket("", "issue", 1, f"Push with {SECRET}", f"token: {SECRET}", 1)], name="leaky"
    )
    place = build(tmp_path, leaky)
    assert "[redacted: GitHub token]" in fr.open_index(place).tickets[0].title
    for path in place.rglob("*"):
        if path.is_file():
            content = path.read_bytes().lower()
            assert SECRET[4:].lower().encode() not in content, path


def test_a_corpus_that_changed_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "issues.json"
    file.write_text('[{"number": 1, "title": "Crash", "createdAt": "2024-05-31T12:00:00Z"}]')
    index_corpus(str(tmp_path), tmp_path / "index", model="fake", cache=False)
    assert fr.open_index(tmp_path / "index").changed_origin() is None
    file.write_text('[{"number": 2, "title": "Crash!", "createdAt": "2024-05-31T12:00:00Z"}]')
    assert fr.open_index(tmp_path / "index").changed_origin() == str(file.resolve())


def test_a_path_names_one_index_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "corpus").mkdir()
    monkeypatch.chdir(tmp_path)
    assert index_folder("corpus") == index_folder(str(tmp_path / "corpus"))
    assert index_folder("A/b") == index_folder("a/B") != index_folder("a/c")


def test_a_large_corpus_is_searched_approximately_with_the_same_filters(
    indexes: dict[int, Index],
) -> None:
    corpus = fr.load_corpus("demo")
    assert isinstance(indexes[100].ranker, ByFusion)
    walked = indexes[100].ranker.memory
    assert isinstance(walked.ann, HNSW)
    questions = fr.embed(["torn snapshot", "login page is slow"], model="fake")
    mask = np.arange(len(corpus)) % 2 == 0
    for exclude in (None, [10, -1], [[2, 4], []]):
        ids, scores = walked.exact.search(questions, 10, exclude=exclude, mask=mask)
        near, about = walked.nearest.search(questions, 10, exclude=exclude, mask=mask)
        assert np.mean([len(set(a) & set(b)) for a, b in zip(ids, near, strict=True)]) >= 9
        np.testing.assert_allclose(about[:, 0], scores[:, 0], atol=0.01)
        assert mask[near].all()


def test_the_border_lets_one_in_twenty_own_titles_fall(indexes: dict[int, Index]) -> None:
    corpus = fr.load_corpus("demo")
    for index in indexes.values():
        asked = [
            fr.ask(index, corpus.tickets[node].title, k=1, without=node)
            for node in range(0, len(corpus), 5)
        ]
        far = np.mean([answers.cosine < answers.border for answers in asked])
        assert abs(float(far) - FAR_SHARE) < 0.05


@pytest.mark.parametrize("count", [1, 2])
def test_tiny_corpora_are_served(tmp_path: Path, count: int) -> None:
    corpus = make_corpus([Ticket("", "issue", n, "", "", 0) for n in range(count)], name="tiny")
    index = fr.open_index(build(tmp_path, corpus))
    assert len(fr.ask(index, "Crash").answers) <= count


def test_a_generated_corpus_of_any_size_can_be_indexed(tmp_path: Path) -> None:
    folder, manifest = index_corpus("demo:300", tmp_path / "i", model="fake", cache=False)
    assert folder == tmp_path / "i"
    assert manifest.corpus["generated"]
