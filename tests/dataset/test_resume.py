"""A writer that was stopped goes on, and nothing in the result tells that it was."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from fastrecall.dataset import VectorDataset, VectorWriter
from fastrecall.errors import CacheError

WRITE = """
import os, signal, sys
import numpy as np
from fastrecall.dataset import VectorWriter
folder, die_at = sys.argv[1], int(sys.argv[2])
vectors = np.random.default_rng(2).standard_normal((5000, 16)).astype(np.float32)
with VectorWriter(folder, dim=16, storage="int8", rows_per_file=600) as writer:
    print(writer.rows, flush=True)
    for start in range(writer.rows, 5000, 130):
        if start >= die_at:
            os.kill(os.getpid(), signal.SIGKILL)
        writer.append(vectors[start : start + 130])
"""


def run(folder: Path, die_at: int) -> tuple[int, int]:
    """Write until a row; the exit status, and the row that the writer went on from."""
    done = subprocess.run(
        [sys.executable, "-c", WRITE, str(folder), str(die_at)], capture_output=True, text=True
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode, int(done.stdout)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL")
def test_killed_again_and_again_is_the_same_as_undisturbed(tmp_path: Path) -> None:
    assert run(tmp_path / "whole", 9999) == (0, 0)
    broken = tmp_path / "broken"
    went_on_from = []
    for die_at in (100, 700, 2000, 3000, 9999):
        status, start = run(broken, die_at)
        went_on_from.append(start)
        assert (status == 0) == (die_at == 9999)
        assert (broken / "manifest.json").exists() == (die_at == 9999)
    assert went_on_from == [0, 0, 600, 1800, 3000]
    assert contents(broken) == contents(tmp_path / "whole")


def test_an_error_keeps_whole_files_and_no_manifest(tmp_path: Path) -> None:
    vectors = np.ones((25, 2), np.float32)
    with pytest.raises(ZeroDivisionError), VectorWriter(tmp_path, dim=2, rows_per_file=10) as one:
        one.append(vectors)
        raise ZeroDivisionError
    assert sorted(path.name for path in tmp_path.glob("[!.]*")) == [
        "vectors-000000.arrow",
        "vectors-000001.arrow",
    ]
    with VectorWriter(tmp_path, dim=2, rows_per_file=10) as writer:
        assert writer.rows == 20
    assert len(VectorDataset(tmp_path)) == 20


def test_a_last_file_without_its_manifest_is_written_again(tmp_path: Path) -> None:
    with VectorWriter(tmp_path, dim=2, rows_per_file=10) as writer:
        writer.append(np.ones((15, 2), np.float32))
    (tmp_path / "manifest.json").unlink()
    with VectorWriter(tmp_path, dim=2, rows_per_file=10) as writer:
        assert writer.rows == 10
        writer.append(np.zeros((8, 2), np.float32))
    assert VectorDataset(tmp_path).read(9, 18).sum() == 2


def test_a_damaged_file_is_where_writing_goes_on(tmp_path: Path) -> None:
    with VectorWriter(tmp_path, dim=2, rows_per_file=10) as writer:
        writer.append(np.ones((40, 2), np.float32))
    (tmp_path / "manifest.json").unlink()
    (tmp_path / "vectors-000001.arrow").write_bytes(b"ARROW1")
    with VectorWriter(tmp_path, dim=2, rows_per_file=10) as writer:
        assert writer.rows == 10
    assert len(VectorDataset(tmp_path)) == 10
    assert not (tmp_path / "vectors-000003.arrow").exists()


@pytest.mark.parametrize(
    "options", [{"dim": 3}, {"storage": "int8"}, {"rows_per_file": 5}], ids=lambda o: next(iter(o))
)
def test_other_options_than_before_are_refused(tmp_path: Path, options: dict[str, object]) -> None:
    before = {"dim": 2, "storage": "float32", "rows_per_file": 10}
    writer = VectorWriter(tmp_path, **before)
    writer.append(np.ones((30, 2), np.float32))
    writer.close()
    with pytest.raises(CacheError, match="give the same options as before"):
        VectorWriter(tmp_path, **{**before, **options})
    assert VectorWriter(tmp_path, **before).rows == 30


def test_a_finished_dataset_is_not_written_over(tmp_path: Path) -> None:
    with VectorWriter(tmp_path, dim=2) as writer:
        writer.append(np.ones((3, 2), np.float32))
    with pytest.raises(CacheError, match="holds a finished vector dataset"):
        VectorWriter(tmp_path, dim=2)
    with pytest.raises(CacheError, match="is closed; nothing can be added"):
        writer.append(np.ones((3, 2), np.float32))
    assert len(VectorDataset(tmp_path)) == 3


@pytest.mark.parametrize(
    "name", ["vectors-000000.arrow", "vectors-000007.arrow", "vectors-x.arrow"]
)
def test_files_of_somebody_else_are_not_replaced(tmp_path: Path, name: str) -> None:
    table = pa.table({"vector": pa.array([[1.0, 2.0]], pa.list_(pa.float32(), 2))})
    with pa.ipc.new_file(tmp_path / name, table.schema) as out:
        out.write_table(table)
    before = contents(tmp_path)
    with pytest.raises(CacheError, match=rf"{name} is not of a vector dataset; choose another"):
        VectorWriter(tmp_path, dim=2)
    (tmp_path / ".lock").unlink()
    assert contents(tmp_path) == before


def test_what_a_killed_writer_was_writing_is_removed(tmp_path: Path) -> None:
    for name in (".vectors-000000.arrow.x1y2", ".manifest.json.x1y2", ".mine"):
        (tmp_path / name).write_bytes(b"part")
    with VectorWriter(tmp_path, dim=2) as writer:
        writer.append(np.ones((3, 2), np.float32))
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {".lock", ".mine", "manifest.json", "vectors-000000.arrow"}


def test_two_writers_do_not_meet(tmp_path: Path) -> None:
    with (
        VectorWriter(tmp_path, dim=2),
        pytest.raises(CacheError, match="another process is writing vectors"),
    ):
        VectorWriter(tmp_path, dim=2)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CacheError, match=r"cannot write .*file/v"):
        VectorWriter(tmp_path / "file" / "v", dim=2)
