"""A file of cached vectors. Checksums are made to fit in every second input."""

from __future__ import annotations

import struct
import zlib
from unittest.mock import patch

import numpy as np
from tests.fuzz.common import empty_folder, expected_errors, must_hold

from fastrecall.embedding import cache as module
from fastrecall.embedding.cache import VectorCache
from fastrecall.embedding.models import resolve_model
from fastrecall.embedding.segment import KEY_BYTES, encode_block

MODEL = resolve_model("fake")
KNOWN = ("a", "b", "c")


def mended(data: bytes) -> bytes:
    """The same blocks with the checksums that belong to them, and known keys in the first."""
    out = bytearray()
    at = 0
    while len(data) - at >= 24:
        magic, texts, dim, _, _ = struct.unpack_from("<4sIIII", data, at)
        start = at + 24
        middle, end = start + texts * KEY_BYTES, start + texts * (KEY_BYTES + 4 * dim)
        if end > len(data):
            break
        keys, vectors = data[start:middle], data[middle:end]
        fields = struct.pack("<4sIIII", magic, texts, dim, zlib.crc32(keys), zlib.crc32(vectors))
        out += fields + struct.pack("<I", zlib.crc32(fields)) + keys + vectors
        at = end
    return bytes(out) + data[at:]


def run(data: bytes) -> None:
    with patch.object(module, "note"):  # every damaged file is told, and here all are
        check(data)


def check(data: bytes) -> None:
    if data[:1] == b"+":
        data = mended(data[1:])
    cache = VectorCache(empty_folder("cache"), MODEL, "")
    cache.folder.mkdir(parents=True)
    (cache.folder / "0-0.vectors").write_bytes(data)
    keys = cache.keys(KNOWN)
    for dim in (0, 2):
        with expected_errors():
            vectors, found = cache.lookup(keys, dim)
            must_hold(vectors.shape[0] == len(found) == len(KNOWN), "shape")
            must_hold(dim == 0 or vectors.shape[1] == dim, "dim")
    with expected_errors():
        fresh = cache.keys(["in no file"])
        with cache.writer() as writer:
            writer.add(fresh, np.ones((1, 2), np.float32))
        vectors, found = cache.lookup(fresh, 2)
        must_hold(found[0] and (vectors == 1).all(), "what was written is not found")
    must_hold(len(encode_block(keys, np.zeros((3, 2), np.float32))) == 24 + 3 * 40, "block")
