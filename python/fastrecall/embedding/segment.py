"""The file format of cached vectors: blocks that are appended whole and prove their content.

A file is a sequence of blocks, little-endian::

    header   magic "FRV1" · texts u32 · dim u32 · crc of keys u32 · crc of vectors u32 · crc of the
             20 bytes before u32
    keys     texts × 32 bytes
    vectors  texts × dim × float32

The checksums are CRC-32. Keys are read and checked when a file is opened, vectors when one of them
is wanted. A file that ends inside a block was being written when its process died: what came before
is good.
"""

from __future__ import annotations

import os
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from fastrecall.types import Vectors

KEY_BYTES = 32
_FORMAT, _VERSION = b"FRV", 1
_MAGIC = b"%s%d" % (_FORMAT, _VERSION)
_FIELDS = struct.Struct("<4sIIII")
_CHECK = struct.Struct("<I")
_HEADER_BYTES = _FIELDS.size + _CHECK.size

Keys = npt.NDArray[np.uint8]
"""Keys, one row of 32 bytes a text."""


class DamagedError(Exception):
    """A block that is not what was written."""


@dataclass(frozen=True, slots=True)
class Block:
    """Where one block's vectors lie in its file, and what they must be."""

    start: int
    dim: int
    keys: Keys
    vectors_crc: int

    @property
    def vectors_bytes(self) -> int:
        """Bytes of the vectors."""
        return len(self.keys) * self.dim * 4


def encode_block(keys: Keys, vectors: Vectors) -> bytes:
    """One block as bytes, to be written in one go."""
    key_bytes = np.ascontiguousarray(keys, dtype=np.uint8).tobytes()
    vector_bytes = np.ascontiguousarray(vectors, dtype="<f4").tobytes()
    texts, dim = vectors.shape
    fields = _FIELDS.pack(_MAGIC, texts, dim, zlib.crc32(key_bytes), zlib.crc32(vector_bytes))
    return b"".join((fields, _CHECK.pack(zlib.crc32(fields)), key_bytes, vector_bytes))


@dataclass(frozen=True, slots=True)
class Scan:
    """What `scan` found: good blocks, whether the last one is cut off, and what is wrong if not."""

    blocks: list[Block]
    cut_off: bool
    damage: str | None


def scan(file: BinaryIO) -> Scan:
    """Read all headers and keys of a file, up to its end or to the first damage.

    Behind damaged keys the scan goes on at the next block; behind a damaged header nothing can be
    found.
    """
    size = os.fstat(file.fileno()).st_size
    blocks: list[Block] = []
    damage = None
    at = 0
    while at < size:
        file.seek(at)
        header = file.read(_HEADER_BYTES)
        if len(header) < _HEADER_BYTES:
            return Scan(blocks, True, damage)
        magic, texts, dim, keys_crc, vectors_crc = _FIELDS.unpack_from(header)
        (check,) = _CHECK.unpack_from(header, _FIELDS.size)
        if magic != _MAGIC or check != zlib.crc32(header[: _FIELDS.size]):
            return Scan(blocks, False, f"the block at byte {at} has no valid header")
        start = at + _HEADER_BYTES + texts * KEY_BYTES
        end = start + texts * dim * 4
        if end > size:
            return Scan(blocks, True, damage)
        raw = file.read(texts * KEY_BYTES)
        if not texts:
            pass  # nobody writes such a block, and its dim would be taken for that of the cache
        elif zlib.crc32(raw) == keys_crc:
            keys = np.frombuffer(raw, dtype=np.uint8).reshape(texts, KEY_BYTES)
            blocks.append(Block(start, dim, keys, vectors_crc))
        else:
            damage = f"the keys of the block at byte {at} do not match their checksum"
        at = end
    return Scan(blocks, False, damage)


def is_newer(path: Path) -> bool:
    """Whether a later version of fastrecall wrote the file: it is none of our business.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        magic = file.read(len(_MAGIC))
    version = magic.removeprefix(_FORMAT)
    return magic.startswith(_FORMAT) and version.isdigit() and int(version) > _VERSION


def read_vectors(file: BinaryIO, block: Block) -> Vectors:
    """The vectors of one block.

    Raises:
        DamagedError: they do not match their checksum.
    """
    file.seek(block.start)
    raw = file.read(block.vectors_bytes)
    if len(raw) != block.vectors_bytes or zlib.crc32(raw) != block.vectors_crc:
        raise DamagedError(f"the vectors at byte {block.start} do not match their checksum")
    vectors: Vectors = np.frombuffer(raw, dtype="<f4").reshape(len(block.keys), block.dim)
    return vectors
