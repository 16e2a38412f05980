"""The journal: whatever happens to a line, the others are kept."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastrecall._lock import locked
from fastrecall.errors import CacheError
from fastrecall.serve import journal as module
from fastrecall.serve.journal import Journal


def filled(folder: Path, count: int = 5) -> Journal:
    journal = Journal(folder)
    for at in range(count):
        journal.append({"id": f"n{at}", "text": f"Запись {at} 🔥\n\u2028 line"})
    return journal


def ids(folder: Path) -> tuple[list[str], int]:
    journal = Journal(folder)
    journal.refresh()
    return [entry["id"] for entry in journal.entries], journal.damaged


def test_entries_come_back_as_they_were(tmp_path: Path) -> None:
    filled(tmp_path)
    journal = Journal(tmp_path)
    assert journal.refresh()
    assert journal.entries[3] == {"id": "n3", "text": "Запись 3 🔥\n\u2028 line"}
    assert not journal.refresh()


@pytest.mark.parametrize("cut", [1, 7, 40])
def test_a_torn_end_costs_only_itself(tmp_path: Path, cut: int) -> None:
    filled(tmp_path)
    path = tmp_path / "journal"
    path.write_bytes(path.read_bytes()[:-cut])
    assert ids(tmp_path) == (["n0", "n1", "n2", "n3"], 0)
    filled_again = Journal(tmp_path)
    filled_again.append({"id": "new"})
    kept, damaged = ids(tmp_path)
    # A line that lacked nothing but its end is whole again.
    assert (kept, damaged) == (
        (["n0", "n1", "n2", "n3", "n4", "new"], 0)
        if cut == 1
        else (["n0", "n1", "n2", "n3", "new"], 1)
    )


def test_every_flipped_byte_is_detected_and_the_rest_kept(tmp_path: Path) -> None:
    filled(tmp_path, 3)
    path = tmp_path / "journal"
    whole = path.read_bytes()
    for at in range(0, len(whole), 5):
        data = bytearray(whole)
        data[at] ^= 0x10
        path.write_bytes(data)
        kept, damaged = ids(tmp_path)
        assert damaged >= 1 or data[-1:] != b"\n", at
        assert len(kept) >= 1, at
        assert set(kept) <= {"n0", "n1", "n2"}
        entries = Journal(tmp_path)
        entries.refresh()
        assert all(entry["text"].startswith("Запись") for entry in entries.entries)


@given(st.binary(max_size=200))
def test_garbage_is_passed_over(garbage: bytes) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        filled(folder, 2)
        with (folder / "journal").open("ab") as file:
            file.write(garbage)
        Journal(folder).append({"id": "new"})
        kept, _ = ids(folder)
        assert kept[:2] == ["n0", "n1"]
        assert kept[-1] == "new"


def test_a_removed_entry_is_off_the_disk_and_damage_stays(tmp_path: Path) -> None:
    filled(tmp_path)
    path = tmp_path / "journal"
    path.write_bytes(path.read_bytes().replace(b'"n1"', b'"x1"'))
    reader = Journal(tmp_path)
    reader.refresh()
    assert Journal(tmp_path).remove("n3")
    assert not Journal(tmp_path).remove("n3")
    assert ids(tmp_path) == (["n0", "n2", "n4"], 1)
    assert "Запись 3".encode() not in path.read_bytes()
    assert reader.refresh()
    assert [entry["id"] for entry in reader.entries] == ["n0", "n2", "n4"]


def test_a_reader_notices_a_file_that_was_rewritten_and_grew(tmp_path: Path) -> None:
    reader = filled(tmp_path)
    reader.refresh()
    Journal(tmp_path).remove("n0")
    for at in range(5):
        Journal(tmp_path).append({"id": f"m{at}"})
    reader.refresh()
    expected = ["n1", "n2", "n3", "n4", "m0", "m1", "m2", "m3", "m4"]
    assert [entry["id"] for entry in reader.entries] == expected
    (tmp_path / "journal").unlink()
    assert reader.refresh()
    assert reader.entries == []


def _append_many(folder: str, name: str) -> None:
    journal = Journal(Path(folder))
    for at in range(30):
        journal.append({"id": f"{name}{at}", "text": "x" * 5000})


def test_processes_that_write_at_once_do_not_mix(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_append_many, args=(str(tmp_path), name)) for name in "ab"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    kept, damaged = ids(tmp_path)
    assert (len(kept), damaged) == (60, 0)
    assert [one for one in kept if one[0] == "a"] == [f"a{at}" for at in range(30)]


def test_a_lock_that_is_held_too_long_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_WAIT_SECONDS", 0.05)
    with (
        locked(tmp_path / "lock", busy=""),
        pytest.raises(CacheError, match=r"has been writing to .* for long"),
    ):
        Journal(tmp_path).append({"id": "x"})


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CacheError, match="cannot write"):
        Journal(tmp_path / "file" / "inside").append({"id": "x"})
