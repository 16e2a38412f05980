"""Files appear whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fastrecall._data import data_folder
from fastrecall._files import atomic_write
from fastrecall.embedding import cache_folder
from fastrecall.errors import CacheError, InputError


def test_an_error_inside_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    target = tmp_path / "record.json"
    target.write_text("old")
    with pytest.raises(ZeroDivisionError), atomic_write(target) as file:
        file.write("half")
        raise ZeroDivisionError
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_missing_folders_are_made_and_bytes_are_kept(tmp_path: Path) -> None:
    target = tmp_path / "a" / "b.bin"
    with atomic_write(target, binary=True) as file:
        file.write(b"\x00\xff")
    assert target.read_bytes() == b"\x00\xff"
    assert target.stat().st_mode & 0o044 == 0o044


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CacheError, match=r"cannot write .*file/x: .*"):
        atomic_write(tmp_path / "file" / "x").__enter__()


@pytest.mark.skipif(os.name == "nt", reason="there are no such pipes")
def test_a_pipe_or_device_is_written_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with atomic_write(pipe) as file:
        file.write("through")
    assert os.read(reader, 99) == b"through"
    os.close(reader)
    assert pipe.is_fifo()
    with pytest.raises(CacheError, match="No space left"), atomic_write("/dev/full") as file:
        file.write("lost")


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "real").write_text("old")
    with atomic_write(tmp_path / "link") as file:
        file.write("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_home_that_nobody_has_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, folder in (("FASTRECALL_DATA", data_folder), ("FASTRECALL_CACHE", cache_folder)):
        monkeypatch.setenv(variable, "~nobody-has-this-name/x")
        with pytest.raises(InputError, match=r"'~nobody-has-this-name/x': no home folder is known"):
            folder()
