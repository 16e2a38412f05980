"""``fastrecall dataset``, and what the other commands make of its folders."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import FAKE, Run, assert_told

from fastrecall.corpus import load_corpus, node_texts
from fastrecall.embedding import embed
from fastrecall.study.record import Record


def test_a_dataset_is_written_and_measured(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("dataset", "demo", tmp_path / "set")
    assert code == 0
    assert out.startswith("demo: 460 issues, 630 PRs, ")
    known = json.loads(run("eval", "demo", *FAKE, "--json").out)
    record = json.loads(run("eval", tmp_path / "set", *FAKE, "--memory", "256MB", "--json").out)
    assert record["protocols"] == known["protocols"]
    assert record["corpus"] == known["corpus"]


def test_json_tells_what_was_written(run: Run, tmp_path: Path) -> None:
    code, out, _ = run(
        "dataset", "demo", tmp_path / "set", "--name", "small", "--window-prs", 40, "--json"
    )
    assert code == 0
    told = json.loads(out)
    assert (told["name"], told["issues"], told["prs"]) == ("small", 460, 40)
    assert told["fingerprint"] == load_corpus(tmp_path / "set").fingerprint


def test_vectors_of_ones_own_are_taken(run: Run, tmp_path: Path) -> None:
    vectors = embed(list(node_texts(load_corpus("demo"))), model="fake")
    np.save(tmp_path / "vectors.npy", vectors)
    known = json.loads(run("eval", *FAKE, "--json").out)
    given = ("--vectors", tmp_path / "vectors.npy", "--json")
    assert json.loads(run("eval", *FAKE, *given).out)["protocols"] == known["protocols"]
    np.save(tmp_path / "vectors.npy", vectors[:7])
    assert_told(run("eval", *FAKE, *given), "vectors has 7 rows and demo has 1,090 nodes")


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names of files are Unicode there")
def test_a_folder_whose_name_is_no_unicode_is_as_good_as_others(
    run: Run, folder: Path, tmp_path: Path
) -> None:
    source = folder.rename(tmp_path / os.fsdecode(b"caf\xe9"))
    assert run("dataset", source, tmp_path / "set").code == 0
    for corpus in (source, tmp_path / "set"):
        out = run("eval", corpus, *FAKE, "--out", tmp_path / "record.json")
        assert out.code == 0, out.err
        assert Record.load(tmp_path / "record.json")["corpus"]["name"] == source.name
        assert run("index", corpus, *FAKE, "--out", tmp_path / "index").code == 0


def test_stats_want_bots_too(run: Run, tmp_path: Path) -> None:
    assert run("dataset", "demo", tmp_path / "set").code == 0
    assert_told(run("stats", tmp_path / "set", *FAKE), "fastrecall dataset", "author filter ''")
    assert run("dataset", "demo", tmp_path / "set", "--author-filter", "").code == 0
    known = json.loads(run("stats", "demo", *FAKE, "--json").out)
    found = json.loads(run("stats", tmp_path / "set", *FAKE, "--memory", "1GB", "--json").out)
    del known["timings"], found["timings"]
    assert found == known


def test_bad_input_is_told(run: Run, tmp_path: Path) -> None:
    assert_told(run("dataset", tmp_path / "nothing", tmp_path / "set"), "no such file or folder")
    assert_told(run("dataset", "demo", tmp_path / "set", "--memory", "much"), "'much'", "4GB")
    for none in ("0", "9" * 400, "-1GB", "1XB"):
        assert_told(run("eval", *FAKE, "--memory", none), "expected an amount such as 4GB")
