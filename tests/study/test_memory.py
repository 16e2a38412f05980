"""An evaluation with a bound on memory: the record is that of one without, to the bit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrecall as fr
from fastrecall.corpus import load_corpus, node_texts, write_dataset
from fastrecall.errors import InputError, ModelError
from fastrecall.execution import LocalExecutor
from fastrecall.search.blocks import ArraySource
from fastrecall.study import evaluation
from fastrecall.study.stats import project_stats
from fastrecall.types import Corpus

ALL = {"window_prs": None, "window_issues": None}
DEMO = "demo:2000"


def told(record: Any) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(record.to_json())
    del document["timings"]
    return document


@pytest.fixture(scope="module")
def known() -> dict[str, Any]:
    return told(fr.evaluate(load_corpus(DEMO, **ALL), model="fake", cache=False))


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return write_dataset(DEMO, tmp_path_factory.mktemp("set"))


def test_every_protocol_and_arm_answers_the_same(
    stored: Corpus, known: dict[str, Any], tmp_path: Path
) -> None:
    assert set(known["protocols"]) == {
        "published",
        "leave-one-out",
        "duplicates",
        "past-only",
        "shuffled",
    }
    for _ in ("made", "found again"):
        record = fr.evaluate(stored, model="fake", cache=tmp_path, memory="256MB")
        assert told(record) == known
    assert told(fr.evaluate(stored, model="fake", cache=False)) == known


def test_a_corpus_in_memory_may_be_searched_in_files(known: dict[str, Any]) -> None:
    corpus = load_corpus(DEMO, **ALL)
    assert told(fr.evaluate(corpus, model="fake", cache=False, memory=1)) == known


@pytest.mark.parametrize("query", ["body", "title+body"])
def test_other_questions_answer_the_same(tmp_path: Path, corpora: Path, query: str) -> None:
    source = corpora / "mls-protocol"
    options = {"model": "fake", "cache": False, "query": query, "links": ("github", "title")}
    wanted = told(fr.evaluate(load_corpus(source), **options))
    corpus = write_dataset(source, tmp_path)
    assert told(fr.evaluate(corpus, memory="256MB", **options)) == wanted


def test_what_is_kept_of_one_form_of_question_stays_when_another_is_asked(
    stored: Corpus, tmp_path: Path
) -> None:
    """Bodies are asked of nodes without titles: other texts, vectors and words of one corpus."""

    def kept() -> dict[Path, int]:
        return {
            path: path.stat().st_mtime_ns
            for path in tmp_path.rglob("*")
            if path.is_file() and path.suffix != ".json"
        }

    options: dict[str, Any] = {"model": "fake", "cache": tmp_path, "memory": "256MB"}
    options["arms"] = ["semantic", "bm25"]
    fr.evaluate(stored, **options)
    before = kept()
    fr.evaluate(stored, query="body", **options)
    assert before.items() < kept().items()


class Interrupted(LocalExecutor):
    """Ctrl-C after the first task."""

    def map(self, *args: Any, **options: Any) -> Iterator[Any]:
        yield next(super().map(*args, **options))
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"model": "no such model", "memory": "1GB"}, ModelError),
        ({"model": "fake", "executor": Interrupted()}, KeyboardInterrupt),
    ],
)
def test_without_a_cache_nothing_is_left_of_work_that_failed(
    stored: Corpus,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, Any],
    error: type[BaseException],
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(error):
        fr.evaluate(stored, cache=False, **options)
    assert list(tmp_path.iterdir()) == []


def test_stats_are_the_same(stored: Corpus) -> None:
    options: dict[str, Any] = {"model": "fake", "cache": False}
    known = project_stats(load_corpus(DEMO, **ALL), **options)
    found = project_stats(stored, memory="1GB", **options)
    del known["timings"], found["timings"]
    assert found == known
    bounded = project_stats(stored, memory="100kB", **options)
    assert bounded["titles"]["prs"]["near"] is None
    assert bounded["titles"]["prs"]["exact"] == known["titles"]["prs"]["exact"]
    assert "nearly the same were not looked for" in bounded["corpus"]["notes"][-1]


def test_many_nodes_leave_out_what_takes_too_much(
    stored: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation, "SIMILAR_NODES", 100)
    record = fr.evaluate(stored, model="fake", cache=False, memory="1GB")
    arms = record["protocols"]["leave-one-out"]["arms"]
    assert {"best", "semantic_similar", "semantic_similar_uncut"}.isdisjoint(arms)
    assert {"semantic", "causal", "hybrid_causal"} <= set(arms)
    assert sum("is left out" in note for note in record["corpus"]["notes"]) == 3
    named = fr.evaluate(
        stored, model="fake", cache=False, memory="1GB", arms=["semantic", "semantic_similar"]
    )
    assert "semantic_similar" in named["protocols"]["published"]["arms"]


@pytest.mark.parametrize("memory", [None, "256MB"])
def test_given_vectors_are_used(stored: Corpus, known: dict[str, Any], memory: str | None) -> None:
    vectors = ArraySource(fr.embed(list(node_texts(stored)), model="fake"))
    arms = ["semantic", "semantic_prs", "bm25", "causal"]
    options: dict[str, Any] = {"arms": arms, "cache": False, "memory": memory}
    record = told(fr.evaluate(stored, vectors=vectors, model="fake", **options))
    for key, block in record["protocols"].items():
        assert block["arms"] == {arm: known["protocols"][key]["arms"][arm] for arm in arms}
    texts = sorted({row["query"] for row in record["queries"]})
    duplicates = fr.evaluate(stored, model="fake", cache=False, protocols=["published"], arms=arms)
    questions = dict(zip(texts, fr.embed(texts, model="fake", kind="query"), strict=True))
    given = fr.evaluate(
        stored,
        vectors=vectors,
        question_vectors=questions,
        protocols=["published"],
        model="no such model",
        **options,
    )
    assert given["model"] == {"id": "given", "dim": 384}
    assert given["protocols"] == duplicates["protocols"]


def test_vectors_that_do_not_fit_are_refused(stored: Corpus) -> None:
    short = ArraySource(np.ones((3, 384), np.float32))
    with pytest.raises(InputError, match=r"vectors has 3 rows and demo:2000 has [\d,]+ nodes"):
        fr.evaluate(stored, vectors=short, model="fake", cache=False)
    flat = ArraySource(np.ones((len(stored), 7), np.float32))
    with pytest.raises(InputError, match="7 dimensions and those of the questions 384"):
        fr.evaluate(stored, vectors=flat, model="fake", cache=False)
    with pytest.raises(InputError, match="question_vectors has no vector for"):
        fr.evaluate(stored, vectors=flat, question_vectors={}, model="fake", cache=False)


@pytest.mark.skipif(sys.platform == "win32", reason="kills as POSIX does")
def test_killed_work_goes_on(stored: Corpus, known: dict[str, Any], tmp_path: Path) -> None:
    code = (
        "import sys, pathlib, fastrecall as fr\n"
        "from fastrecall.corpus import write_dataset, load_corpus\n"
        "fr.evaluate(load_corpus(sys.argv[1]), model='fake', cache=pathlib.Path(sys.argv[2]),"
        " memory='256MB')"
    )
    folder = str(stored.tickets._folder)  # type: ignore[attr-defined]
    for sign in ("vectors-*.arrow", "postings-*", "neighbours-*"):
        process = subprocess.Popen([sys.executable, "-c", code, folder, tmp_path], env=os.environ)
        until = time.monotonic() + 60
        while time.monotonic() < until and process.poll() is None:
            if list(tmp_path.rglob(sign)):
                break
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
    record = fr.evaluate(stored, model="fake", cache=tmp_path, memory="256MB")
    assert told(record) == known


PEAK = """
import re, sys, pathlib
import fastrecall as fr
from fastrecall.corpus import load_corpus
corpus = load_corpus(sys.argv[1])
arms = ["semantic", "semantic_prs", "bm25", "hybrid", "causal", "hybrid_causal"]
fr.evaluate(corpus, model="fake", cache=pathlib.Path(sys.argv[2]), memory="256MB", arms=arms,
            protocols=["published", "leave-one-out", "duplicates", "past-only"])
print(re.search(r"VmHWM:\\s*(\\d+)", pathlib.Path("/proc/self/status").read_text())[1])
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="counts memory as Linux does")
def test_memory_does_not_grow_with_the_texts(tmp_path: Path) -> None:
    peaks = []
    for filler in (0, 8_000):
        source = tmp_path / f"{filler}.jsonl"
        with source.open("w") as file:
            for number in range(1, 40_001):
                kind = "pr" if number % 2 else "issue"
                # One issue in a hundred is fixed by the next PR, and repeated by the next issue.
                says = {1: f"Fixes #{number - 1}\n", 2: f"Duplicate of #{number - 2}\n"}
                said = says.get(number % 200, "") if number > 2 else ""
                row = {
                    "kind": kind,
                    "number": number,
                    "title": f"Symptom {number} of part {number % 977}",
                    "body": said + "word " * (filler // 5),
                    "createdAt": 1_600_000_000 + number,
                }
                file.write(json.dumps(row) + "\n")
        folder = tmp_path / f"set{filler}"
        write_dataset(source, folder)
        done = subprocess.run(
            [sys.executable, "-c", PEAK, folder, tmp_path / f"cache{filler}"],
            capture_output=True,
            check=True,
            text=True,
        )
        peaks.append(int(done.stdout) * 1024)
    assert peaks[0] < 500e6
    # 320 MB of texts: no more than a few blocks of them are held.
    assert peaks[1] < peaks[0] + 150e6
