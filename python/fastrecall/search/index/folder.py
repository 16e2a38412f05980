"""The folder of an index: whole or not there, replaced at once, checked when opened.

Every build writes into a folder of its own; ``manifest.json`` beside them names the one that
counts, with the length and checksum of each of its files, and is replaced last. Whoever opens the
folder sees one whole build, the old or the new.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fastrecall._files import atomic_write
from fastrecall._lock import locked
from fastrecall.errors import CacheError
from fastrecall.search.hnsw import HNSW

FORMAT = 1
MANIFEST = "manifest.json"
_BUILD = "build-"
_ANN = "ann.hnsw"
_ATTEMPTS = 3
"""How often opening starts anew when a new build has replaced the one that was being opened."""

Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Manifest:
    """What an index holds and was made from.

    ``corpus`` has the name, fingerprint and counts; ``source`` what names the corpus to
    ``load_corpus`` and ``origins`` its files as (path, bytes, time in ns), to tell when they
    changed; ``model`` all that vectors depend on; ``files`` of each file its bytes and CRC-32.
    """

    build: str
    corpus: Mapping[str, Any]
    model: Mapping[str, Any]
    links: tuple[str, ...]
    closeness: Mapping[str, Any]
    source: str = ""
    origins: tuple[tuple[str, int, int], ...] = ()
    files: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    format: int = FORMAT


class Build:
    """A build that is being written; nobody sees it before `finish`."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self.name = folder, name
        self._files: dict[str, tuple[int, int]] = {}

    def add(self, **arrays: npt.NDArray[Any]) -> None:
        """Write arrays, each into a file of its name.

        Raises:
            CacheError: the folder cannot be written.
        """
        for name, array in arrays.items():
            path = self._folder / self.name / f"{name}.npy"
            with atomic_write(path, binary=True) as file:
                np.save(file, np.ascontiguousarray(array), allow_pickle=False)
            self._files[path.name] = _proof(np.memmap(path, np.uint8, mode="r"))

    def add_ann(self, index: HNSW) -> None:
        """Write the index for approximate search; it proves its own bytes."""
        path = self._folder / self.name / _ANN
        index.save(path)
        self._files[_ANN] = path.stat().st_size, 0

    def finish(self, manifest: Manifest) -> Manifest:
        """Make this build the one that counts; earlier ones go."""
        whole = Manifest(
            **{**vars(manifest), "build": self.name, "files": dict(sorted(self._files.items()))}
        )
        document = asdict(whole)
        with atomic_write(self._folder / MANIFEST) as file:
            json.dump({"sha256": _digest(document), **document}, file, indent=1, ensure_ascii=False)
            file.write("\n")
        for old in self._folder.glob(f"{_BUILD}*"):
            if old.name != self.name:
                shutil.rmtree(old, ignore_errors=True)  # mapped elsewhere: goes next time
        return whole


@contextlib.contextmanager
def new_build(folder: Path) -> Iterator[Build]:
    """A new build of the index in *folder*; what an error leaves unfinished is removed.

    Raises:
        CacheError: another process is building there, or the folder cannot be written.
    """
    busy = f"another process is building the index {folder}; wait until it is done"
    with locked(folder / "lock", busy=busy):
        build = Build(folder, f"{_BUILD}{os.urandom(6).hex()}")
        try:
            yield build
        except BaseException:
            shutil.rmtree(folder / build.name, ignore_errors=True)
            raise


def read_manifest(folder: Path) -> Manifest | None:
    """What the index in *folder* is; None: there is none.

    Raises:
        CacheError: the manifest is damaged, or of another version.
    """
    path = folder / MANIFEST
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise _damaged(path, f"it cannot be read ({error})") from error
    if not isinstance(document, dict) or "sha256" not in document:
        raise _damaged(path, "it is no manifest of an index")
    if document.get("format") != FORMAT:
        raise CacheError(
            f"{path}: the index has format {document.get('format')}, this version of fastrecall "
            f"reads format {FORMAT}; build it again"
        )
    if document.pop("sha256") != _digest(document):
        raise _damaged(path, "its checksum does not fit")
    known = {one.name for one in fields(Manifest)}
    return Manifest(**{name: value for name, value in document.items() if name in known})


def open_build(folder: Path) -> tuple[Manifest, Arrays, HNSW | None]:
    """The arrays of the index in *folder*, mapped, every byte of them checked.

    Raises:
        CacheError: there is no index, or it is damaged.
    """
    for attempt in range(_ATTEMPTS):
        manifest = read_manifest(folder)
        if manifest is None:
            raise CacheError(f"{folder}: there is no index; build one with: fastrecall index")
        try:
            return manifest, *_open_files(folder / manifest.build, manifest)
        except FileNotFoundError as error:
            replaced = read_manifest(folder)
            if attempt + 1 == _ATTEMPTS or replaced is None or replaced.build == manifest.build:
                raise _damaged(Path(error.filename or folder), "it is missing") from error
    raise AssertionError("the last attempt returns or raises")


def _open_files(folder: Path, manifest: Manifest) -> tuple[Arrays, HNSW | None]:
    arrays: Arrays = {}
    ann = None
    for name, (size, crc) in manifest.files.items():
        path = folder / name
        if path.stat().st_size != size:
            raise _damaged(path, f"it has {path.stat().st_size} bytes, expected {size}")
        if name == _ANN:
            ann = HNSW.load(path)
            continue
        if _proof(np.memmap(path, np.uint8, mode="r"))[1] != crc:
            raise _damaged(path, "its checksum does not fit")
        arrays[path.stem] = np.load(path, mmap_mode="r", allow_pickle=False)
    return arrays, ann


def _proof(data: npt.NDArray[np.uint8]) -> tuple[int, int]:
    """Bytes and CRC-32 of a file."""
    return len(data), zlib.crc32(data.data)


def _digest(document: Mapping[str, Any]) -> str:
    """sha256 of a manifest's content, however it is laid out."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def _damaged(path: Path, what: str) -> CacheError:
    return CacheError(f"{path}: the index is damaged, {what}; build it again: fastrecall index")
