"""Index folders of every format there ever was: they answer as they did, or are refused.

Format 1 has no parts of the arm `best`, and the texts that they are made of are not in it.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

import fastrecall as fr
from fastrecall.corpus import make_corpus
from fastrecall.errors import CacheError
from fastrecall.search.index.place import FORMAT
from fastrecall.types import Ticket

DATA = Path(__file__).parent / "data"
ARCHIVES = sorted(DATA.glob("index-*.zip"))
REFUSED = [DATA / "index-1.zip"]
READABLE = [archive for archive in ARCHIVES if archive not in REFUSED]
QUESTION = "crash in parse_2"


def answers(folder: Path) -> dict[str, object]:
    """What the parts of the index say; not how answers are worded."""
    index = fr.open_index(folder)
    return {
        "titles": [ticket.title for ticket in index.tickets],
        "bodies": [ticket.body for ticket in index.tickets],
        "links": np.stack(index.links).tolist(),
        "mentions": index.mentions.tolist(),
        "named": index.named_in(QUESTION).tolist(),
        "answers": [answer.ticket.ref for answer in fr.ask(index, QUESTION, k=4).answers],
    }


def write_archive(folder: Path) -> None:
    """The archive of the current format, for whoever raised it: call this once, and commit."""
    made = [
        Ticket("o/r", "issue", n, f"Crash {n} in parse_{n}", "It crashes: é 死锁", n, author="ann")
        for n in (1, 2)
    ]
    made += [
        Ticket("o/r", "pr", n + 2, f"Guard {n}", f"Fixes #{n}", 10 + n, merged_at=99)
        for n in (1, 2)
    ]
    fr.build_index(make_corpus(made, name="o/r"), folder, model="fake", cache=False)
    path = DATA / f"index-{FORMAT}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*")):
            if file.is_file() and file.name != "lock":
                info = zipfile.ZipInfo(str(file.relative_to(folder)))  # of 1980: no clock
                archive.writestr(info, file.read_bytes(), zipfile.ZIP_DEFLATED)
    expected = json.dumps(answers(folder), indent=1, ensure_ascii=False)
    path.with_suffix(".json").write_text(f"{expected}\n", encoding="utf-8")


@pytest.mark.parametrize("archive", READABLE, ids=lambda path: path.stem)
def test_a_folder_of_each_format_answers_as_it_did(archive: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(tmp_path)
    expected = json.loads(archive.with_suffix(".json").read_text(encoding="utf-8"))
    assert answers(tmp_path) == expected


@pytest.mark.parametrize("archive", REFUSED, ids=lambda path: path.stem)
def test_a_folder_without_what_answers_need_is_refused(archive: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(tmp_path)
    with pytest.raises(CacheError, match=r"has format 1, .* build it again: fastrecall index"):
        fr.open_index(tmp_path)


def test_a_folder_of_the_current_format_is_kept() -> None:
    for written in range(1, FORMAT + 1):
        assert DATA / f"index-{written}.zip" in ARCHIVES, "call write_archive and commit"
