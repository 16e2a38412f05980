"""The folder of an index: whole or not there, replaced at once, checked when opened.

Every build writes into a folder of its own; ``manifest.json`` beside them names the one that
counts, with the length and checksum of each of its files, and is replaced last. Whoever opens the
folder sees one whole build, the old or the new.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import zlib
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import numpy.typing as npt

from fastrecall._checked import write_manifest
from fastrecall._files import atomic_write, remove_leftovers
from fastrecall._lock import locked
from fastrecall.errors import CacheError, InputError
from fastrecall.search.hnsw import HNSW
from fastrecall.search.index.checks import MisfitError, check_arrays
from fastrecall.search.index.place import MANIFEST, Manifest, damaged, read_manifest
from fastrecall.types import VectorSource

_BUILD = "build-"
_ANN = "ann.hnsw"
_ROWS_AT_ONCE = 8192
_ATTEMPTS = 3
"""How often opening starts anew when a new build has replaced the one that was being opened."""

Arrays = dict[str, npt.NDArray[Any]]


class Build:
    """A build that is being written; nobody sees it before `finish`."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self.name = folder, name
        self._files: dict[str, tuple[int, int]] = {}

    @property
    def scratch(self) -> Path:
        """A folder for what is needed while building; it goes when the build is finished."""
        return (self._folder / self.name / "scratch").absolute()

    def add(self, **arrays: npt.NDArray[Any]) -> None:
        """Write arrays, each into a file of its name.

        Raises:
            CacheError: the folder cannot be written.
        """
        for name, array in arrays.items():
            path = self._folder / self.name / f"{name}.npy"
            with atomic_write(path, binary=True) as file:
                proven = _Proven(file)
                np.save(proven, np.ascontiguousarray(array), allow_pickle=False)
            self._files[path.name] = proven.size, proven.crc

    def add_rows(self, name: str, source: VectorSource) -> None:
        """Write vectors as an array ``[n, dim]``, some of them at a time.

        Raises:
            CacheError: the folder cannot be written.
        """
        path = self._folder / self.name / f"{name}.npy"
        with atomic_write(path, binary=True) as file:
            proven = _Proven(file)
            np.lib.format.write_array_header_1_0(
                cast("IO[bytes]", proven),
                {"descr": "<f4", "fortran_order": False, "shape": (len(source), source.dim)},
            )
            for start in range(0, len(source), _ROWS_AT_ONCE):
                rows = source.read(start, min(start + _ROWS_AT_ONCE, len(source)))
                proven.write(rows.astype("<f4", copy=False).tobytes())
        self._files[path.name] = proven.size, proven.crc

    def add_ann(self, index: HNSW) -> None:
        """Write the index for approximate search; it proves its own bytes."""
        path = self._folder / self.name / _ANN
        index.save(path)
        self._files[_ANN] = path.stat().st_size, 0

    def finish(self, manifest: Manifest) -> Manifest:
        """Make this build the one that counts; earlier ones go."""
        shutil.rmtree(self.scratch, ignore_errors=True)
        whole = Manifest(
            **{**vars(manifest), "build": self.name, "files": dict(sorted(self._files.items()))}
        )
        write_manifest(self._folder / MANIFEST, asdict(whole))
        remove_leftovers(self._folder, MANIFEST)
        for old in self._folder.glob(f"{_BUILD}*"):
            if old.name != self.name:
                shutil.rmtree(old, ignore_errors=True)  # mapped elsewhere: goes next time
        return whole


class _Proven:
    """A file that is written, with length and CRC-32 of what was meant to be in it.

    Being no real file it also keeps NumPy from writing past Python, through a C stream whose last
    bytes a full disk takes without a word.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.size = self.crc = 0

    def write(self, data: bytes) -> int:
        self.size += len(data)
        self.crc = zlib.crc32(data, self.crc)
        return self._file.write(data)


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
                raise damaged(Path(error.filename or folder), "it is missing") from error
        except OSError as error:
            where = error.filename or folder / manifest.build
            raise CacheError(
                f"cannot read {where}: {error.strerror or error}; make the folder readable, or "
                "build the index again: fastrecall index"
            ) from error
    raise AssertionError("the last attempt returns or raises")


def _open_files(folder: Path, manifest: Manifest) -> tuple[Arrays, HNSW | None]:
    arrays: Arrays = {}
    ann = None
    for name, (size, crc) in manifest.files.items():
        path = folder / name
        if path.stat().st_size != size:
            raise damaged(path, f"it has {path.stat().st_size} bytes, expected {size}")
        if name == _ANN:
            try:
                ann = HNSW.load(path)
            except InputError as error:
                raise CacheError(f"{error} (fastrecall index)") from error
        else:
            arrays[path.stem] = _array(path, crc)
    nodes, dim = manifest.corpus["nodes"], manifest.model["dim"]
    try:
        check_arrays(arrays, nodes=nodes, dim=dim)
    except MisfitError as error:
        raise damaged(folder / f"{error.name}.npy", str(error)) from error
    if ann is not None and (ann.dim != dim or len(ann) != nodes or ann.ids.max() != nodes - 1):
        raise damaged(folder / _ANN, "it is of other vectors")
    return arrays, ann


def _array(path: Path, crc: int) -> npt.NDArray[Any]:
    """The array in a file, mapped, when the file has that checksum."""
    try:
        whole = path.stat().st_size and zlib.crc32(np.memmap(path, np.uint8, mode="r").data) == crc
        if not whole:
            raise damaged(path, "its checksum does not fit")
        array: npt.NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (CacheError, FileNotFoundError):
        raise
    except Exception as error:  # NumPy lets through what Python's own parser raises
        raise damaged(path, "it holds no array") from error
    return array
