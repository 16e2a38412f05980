"""Files that change while they are read are refused."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from fastrecall.corpus import load, load_corpus
from fastrecall.errors import CorpusError


def written(path: Path, count: int) -> None:
    issues = [
        {"number": n, "title": f"Crash {n}", "createdAt": "2024-05-31T12:00:00Z", "body": "x" * 999}
        for n in range(1, count + 1)
    ]
    path.write_text(json.dumps(issues), encoding="utf-8")


@pytest.mark.parametrize("file", ["issues.json", "prs.json"])
def test_a_file_that_changes_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    for name in ("issues.json", "prs.json"):
        written(tmp_path / name, 300)
    stat = (tmp_path / file).stat()
    read = load.read_tickets

    def read_and_disturb(source: load.Source, *more: object) -> Iterator[object]:
        yield from read(source, *more)  # type: ignore[arg-type]
        if source.where.endswith("prs.json"):
            written(tmp_path / file, 300)
            # Even when the clock was set back by an hour meanwhile.
            os.utime(tmp_path / file, (stat.st_atime - 3600, stat.st_mtime - 3600))

    monkeypatch.setattr(load, "read_tickets", read_and_disturb)
    with pytest.raises(CorpusError, match=rf"{file} was changed while it was read; run"):
        load_corpus(tmp_path)


def test_a_file_that_is_removed_after_it_was_read_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path / "issues.json", 3)
    read = load.read_tickets

    def read_and_remove(*given: object) -> Iterator[object]:
        yield from read(*given)  # type: ignore[arg-type]
        (tmp_path / "issues.json").unlink()

    monkeypatch.setattr(load, "read_tickets", read_and_remove)
    assert len(load_corpus(tmp_path)) == 3
