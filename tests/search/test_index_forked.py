"""An open index in a forked child."""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path

from tests.forked import in_child, needs_fork

import fastrecall as fr
from fastrecall.search.index.build import build_index
from fastrecall.search.index.opening import open_index


@needs_fork
def test_a_child_does_not_wait_for_a_model_that_its_parent_loads(tmp_path: Path) -> None:
    build_index(fr.load_corpus("demo"), tmp_path, model="fake", cache=False)
    index = open_index(tmp_path)

    def answers() -> list[str]:
        return [answer.id for answer in fr.ask(index, "the snapshot is torn", k=3).answers]

    expected = answers()
    assert len(expected) == 3
    index._loaded = Future()  # one that is never done
    assert in_child(lambda: answers() == expected) == "True"
