"""``fastrecall eval --executor``: tasks on files give the record of one process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cli.conftest import FAKE, Run, assert_told


def record(out: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(out)
    read.pop("timings")
    return read


def test_tasks_in_this_process_give_the_same_record(run: Run) -> None:
    whole = run("eval", "demo", *FAKE, "--json")
    tasks = run("eval", "demo", *FAKE, "--json", "--executor", "local")
    assert (whole.code, tasks.code) == (0, 0), tasks.err
    assert record(tasks.out) == record(whole.out)


def test_an_address_without_a_cluster_is_refused(run: Run) -> None:
    assert_told(run("eval", *FAKE, "--address", "head:6379"), "add --executor ray")


def test_an_unknown_executor_is_refused(run: Run) -> None:
    assert_told(run("eval", *FAKE, "--executor", "spark"), "expected one of: local, ray")


def test_an_index_is_built_in_tasks(run: Run, tmp_path: Path) -> None:
    assert run("dataset", "demo:300", tmp_path / "set").code == 0
    told = {}
    for place, options in (("whole", ()), ("tasks", ("--executor", "local", "--memory", "1GB"))):
        done = run("index", tmp_path / "set", *FAKE, *options, "--out", tmp_path / place, "--json")
        assert done.code == 0, done.err
        told[place] = json.loads(done.out)
        assert told[place].pop("folder") == str(tmp_path / place)
    assert told["tasks"] == told["whole"]


def test_an_index_needs_an_amount_of_memory(run: Run) -> None:
    assert_told(run("index", "demo:300", *FAKE, "--memory", "much"), "'much'", "4GB")
    assert_told(run("index", *FAKE, "--address", "head:6379"), "add --executor ray")
