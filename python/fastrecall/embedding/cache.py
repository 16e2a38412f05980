"""Vectors on disk, found again by what they were computed from.

A vector's key is the sha256 of all that it depends on: model, tokeniser, pooling, length limit,
prefix, text. There is one folder for each combination of all but the text (a *space*), and in it a
few append-only files (see `segment`). Every process writes files of its own, so that two at once
never meet. A process that is killed leaves whole blocks behind, and perhaps a last one that is cut
off and ignored. Files that have become many are merged into one, which then takes their place;
whoever misses a vector over that only has to embed a text again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO, cast

import numpy as np
import numpy.typing as npt

from fastrecall._files import atomic_write, write_all
from fastrecall._term import note
from fastrecall.embedding.folders import NO_CACHE_HINT
from fastrecall.embedding.models import ModelInfo
from fastrecall.embedding.segment import (
    KEY_BYTES,
    Block,
    DamagedError,
    Keys,
    encode_block,
    is_newer,
    read_vectors,
    scan,
)
from fastrecall.errors import CacheError
from fastrecall.types import Vectors

_WHOLE, _GROWING = ".vectors", ".growing"
_BLOCK_TEXTS = 1024
_FILES_BEFORE_MERGE = 8
_MERGED_UP_TO_BYTES = 256 << 20
"""Larger files are left alone by merges: rewriting them costs more than opening one more file."""
_SPACE_BYTES = 4 << 30
"""A space that outgrows this (2.7 million vectors of 384 numbers) loses its oldest files."""
_ABANDONED_AFTER_S = 3600
"""A growing or temporary file that nobody touched for so long has lost its writer."""


@dataclass(frozen=True, slots=True)
class _Located:
    """A block and the open file that it lies in."""

    path: Path
    file: BinaryIO
    block: Block


class VectorCache:
    """The cached vectors of one model, for texts with one prefix."""

    def __init__(self, root: Path, model: ModelInfo, prefix: str) -> None:
        parts = (
            model.sha256 or "",
            model.tokenizer_sha256 or "",
            model.pooling,
            str(model.max_tokens),
            prefix,
        )
        self._seed = hashlib.sha256("\0".join(parts).encode())
        self._seed.update(b"\0")
        self.folder = root / "vectors" / self._seed.hexdigest()[:32]

    def keys(self, texts: Sequence[str]) -> Keys:
        """The keys of texts (each must be encodable as UTF-8)."""
        digests = bytearray()
        for text in texts:
            one = self._seed.copy()
            one.update(text.encode())
            digests += one.digest()
        return np.frombuffer(digests, dtype=np.uint8).reshape(len(texts), KEY_BYTES)

    def lookup(self, keys: Keys, dim: int) -> tuple[Vectors, npt.NDArray[np.bool_]]:
        """Vectors for *keys*, and which of them were found; the other rows are undefined.

        With *dim* 0 the dimension is what the cache holds. Damaged files are named on stderr, and
        replaced by what is good in them.

        Raises:
            CacheError: the folder cannot be read.
        """
        with ExitStack() as stack:
            located, damage = self._open(self._paths(), stack)
            if dim == 0 and located:
                dim = located[0].block.dim
            located = [one for one in located if one.block.dim == dim]
            vectors: Vectors = np.empty((len(keys), dim), dtype=np.float32)
            found = np.zeros(len(keys), dtype=np.bool_)
            for at, rows, inside in _match(keys, [one.block.keys for one in located]):
                one = located[at]
                try:
                    vectors[rows] = read_vectors(one.file, one.block)[inside]
                except DamagedError as error:
                    damage.setdefault(one.path, str(error))
                except OSError as error:
                    raise _cannot_read(one.path, error) from error
                else:
                    found[rows] = True
        for path, reason in damage.items():
            note(f"cached vectors are damaged and will be computed again: {path}: {reason}")
            # Where the folder cannot be written, the note comes again next time.
            with contextlib.suppress(CacheError):
                self._merge([path])
        return vectors, found

    @contextlib.contextmanager
    def writer(self) -> Iterator[VectorWriter]:
        """Open a file of this process's own for new vectors.

        However the block ends, what was added stays.

        Raises:
            CacheError: the folder cannot be written, or the disk is full.
        """
        path = self._new_path(_GROWING)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            file = path.open("xb", buffering=0)
        except OSError as error:
            raise _cannot_write(path.parent, error) from error
        writer = VectorWriter(path, file)
        try:
            yield writer
        finally:
            # What a file system tells only now was lost is missing when it is looked up.
            with contextlib.suppress(OSError):
                file.close()
            if writer.added:
                self._settle(path)
            else:
                _unlink(path)

    def _settle(self, path: Path) -> None:
        """Turn a grown file into a whole one, together with others when there are many."""
        others = [
            one
            for one in self._paths()
            if _size(one) <= _MERGED_UP_TO_BYTES and (one.suffix == _WHOLE or _abandoned(one))
        ]
        # A full disk or the like: the growing file serves as well, and is merged another day.
        with contextlib.suppress(CacheError):
            self._merge([*others, path] if len(others) >= _FILES_BEFORE_MERGE else [path])
            self._forget_oldest()
        for temporary in self.folder.glob(f".*{_WHOLE}.*"):  # left by a killed merge
            if _abandoned(temporary):
                _unlink(temporary)

    def _merge(self, paths: Sequence[Path]) -> None:
        """Write what is good in some files into one new file, each key once; remove them."""
        with ExitStack() as stack:
            located, _ = self._open(paths, stack)
            keep = _first_of_each([one.block.keys for one in located])
            if any(len(rows) for rows in keep):
                with atomic_write(self._new_path(_WHOLE), binary=True) as out:
                    _copy(located, keep, cast(IO[bytes], out))
        for path in paths:
            _unlink(path)

    def _forget_oldest(self) -> None:
        whole = [one for one in self._paths() if one.suffix == _WHOLE]
        total = sum(_size(one) for one in whole)
        for path in whole[:-1]:
            if total <= _SPACE_BYTES:
                return
            total -= _size(path)
            _unlink(path)

    def _paths(self) -> list[Path]:
        """The files of the space, oldest first; those of a later version stay as they are."""
        try:
            paths = sorted(self.folder.iterdir())
        except FileNotFoundError:
            return []
        except OSError as error:
            raise _cannot_read(self.folder, error) from error
        return [path for path in paths if path.suffix in (_WHOLE, _GROWING) and not _newer(path)]

    def _new_path(self, suffix: str) -> Path:
        # The time comes first, so that names sort by age; the rest keeps processes apart.
        return self.folder / f"{time.time_ns():016x}-{os.urandom(4).hex()}{suffix}"

    def _open(
        self, paths: Sequence[Path], stack: ExitStack
    ) -> tuple[list[_Located], dict[Path, str]]:
        """The good blocks of some files, and what is wrong with which file."""
        located: list[_Located] = []
        damage: dict[Path, str] = {}
        for path in paths:
            try:
                file = stack.enter_context(path.open("rb"))
                result = scan(file)
            except FileNotFoundError:  # merged away by another process a moment ago
                continue
            except OSError as error:
                raise _cannot_read(path, error) from error
            located += [_Located(path, file, block) for block in result.blocks]
            if result.damage:
                damage[path] = result.damage
            elif result.cut_off and path.suffix == _WHOLE:
                damage[path] = "it ends in the middle of a block"
        return located, damage


class VectorWriter:
    """Adds vectors to a file; each call is one block, on disk when the call returns."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self._path = path
        self._file = file
        self.added = 0

    def add(self, keys: Keys, vectors: Vectors) -> None:
        """Append one block.

        Raises:
            CacheError: the disk is full or gone.
        """
        try:
            write_all(self._file, encode_block(keys, vectors))
        except OSError as error:
            raise _cannot_write(self._path, error) from error
        self.added += len(keys)


def _newer(path: Path) -> bool:
    try:
        return is_newer(path)
    except OSError:  # whoever opens it will say why it cannot be
        return False


def _prefixes(keys: Sequence[Keys]) -> npt.NDArray[np.uint64]:
    """The first 8 bytes of every key: enough to sort and search by, too little to trust."""
    joined = np.concatenate(keys) if keys else np.empty((0, KEY_BYTES), dtype=np.uint8)
    return np.ascontiguousarray(joined[:, :8]).view(np.uint64).ravel()


def _match(
    wanted: Keys, blocks: Sequence[Keys]
) -> Iterator[tuple[int, npt.NDArray[np.intp], npt.NDArray[np.intp]]]:
    """Where the wanted keys are: (block, rows of *wanted*, rows of that block)."""
    have = _prefixes(blocks)
    if not len(have) or not len(wanted):
        return
    order = np.argsort(have, kind="stable")
    places = np.searchsorted(have[order], _prefixes([wanted]))
    candidates = order[np.minimum(places, len(have) - 1)]
    same = (np.concatenate(blocks)[candidates] == wanted).all(axis=1)
    rows = np.flatnonzero(same)
    rows = rows[np.argsort(candidates[rows], kind="stable")]
    starts = np.cumsum([0, *(len(block) for block in blocks)])
    cuts = np.searchsorted(candidates[rows], starts)
    for at in np.flatnonzero(np.diff(cuts)):
        chosen = rows[cuts[at] : cuts[at + 1]]
        yield int(at), chosen, candidates[chosen] - starts[at]


def _first_of_each(blocks: Sequence[Keys]) -> list[npt.NDArray[np.intp]]:
    """For each block the rows whose key did not occur before."""
    _, first = np.unique(_prefixes(blocks), return_index=True)
    first.sort()
    starts = np.cumsum([0, *(len(block) for block in blocks)])
    cuts = np.searchsorted(first, starts)
    return [first[cuts[at] : cuts[at + 1]] - starts[at] for at in range(len(blocks))]


def _copy(
    located: Sequence[_Located], keep: Sequence[npt.NDArray[np.intp]], out: IO[bytes]
) -> None:
    """Write the kept rows in blocks of a good size; damaged blocks are left behind."""
    keys: list[Keys] = []
    vectors: list[Vectors] = []

    def write() -> None:
        if keys:
            out.write(encode_block(np.concatenate(keys), np.concatenate(vectors)))
            keys.clear()
            vectors.clear()

    for one, rows in zip(located, keep, strict=True):
        try:
            whole = read_vectors(one.file, one.block)
        except DamagedError:
            continue
        if vectors and vectors[0].shape[1] != one.block.dim:
            write()
        for start in range(0, len(rows), _BLOCK_TEXTS):
            part = rows[start : start + _BLOCK_TEXTS]
            keys.append(one.block.keys[part])
            vectors.append(whole[part])
            if sum(map(len, keys)) >= _BLOCK_TEXTS:
                write()
    write()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _abandoned(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime > _ABANDONED_AFTER_S
    except OSError:
        return False


def _unlink(path: Path) -> None:
    # Gone already, or held open by a reader on Windows: then it stays until the next merge.
    with contextlib.suppress(OSError):
        path.unlink()


def _cannot_read(path: Path, error: OSError) -> CacheError:
    return CacheError(
        f"cannot read cached vectors in {path}: {error.strerror or error}; {NO_CACHE_HINT}"
    )


def _cannot_write(path: Path, error: OSError) -> CacheError:
    return CacheError(
        f"cannot write cached vectors to {path}: {error.strerror or error}; {NO_CACHE_HINT}"
    )
