"""JSON that proves its content: a flipped byte is noticed before anybody believes it."""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastrecall import _json
from fastrecall._files import atomic_write

DIGEST = "digest"
"""The key under which a sealed document carries its digest."""

_FILE_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")


def is_file_name(name: str) -> bool:
    r"""Whether a name that a document tells is one of a file that we wrote, and no way elsewhere.

    >>> [is_file_name(name) for name in ("codes-1f.npy", "../x", "a/b", ".x", "a\0", "")]
    [True, False, False, False, False, False]
    """
    return _FILE_NAME.fullmatch(name) is not None


def digest_of(document: Mapping[str, Any], *, allow_nan: bool = True) -> str:
    """sha256 of what a JSON object says, however it is laid out.

    Keys are strings.

    Raises:
        ValueError: it is nested more deeply than can be written again; or, without *allow_nan*, it
            holds nan or infinity, which are not JSON.

    >>> digest_of({"a": 1, "b": 2}) == digest_of({"b": 2, "a": 1})
    True
    """
    try:
        text = json.dumps(document, sort_keys=True, allow_nan=allow_nan)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return hashlib.sha256(text.encode()).hexdigest()


def write_manifest(path: Path, document: Mapping[str, Any]) -> None:
    """Write a JSON object for people to read, with its `digest_of` in front (``sha256``).

    Raises:
        CacheError: the folder cannot be written.
    """
    proven = {"sha256": digest_of(document), **document}
    with atomic_write(path) as file:
        json.dump(proven, file, indent=1, ensure_ascii=False)
        file.write("\n")


def sealed(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with its digest in front.

    >>> unsealed(sealed({"hits": 3}))
    {'hits': 3}
    """
    return {DIGEST: digest_of(document), **document}


def unsealed(document: object) -> dict[str, Any]:
    """The document without its digest; one that was never sealed comes back as it is.

    Raises:
        ValueError: it is not what was sealed, or no JSON object.
    """
    if not isinstance(document, dict):
        raise ValueError("not an object")
    content = dict(document)
    if DIGEST in content and content.pop(DIGEST) != digest_of(content):
        raise ValueError("its digest does not fit")
    return content


def checked_line(entry: Mapping[str, Any]) -> bytes:
    r"""``length crc json`` and a line break: length in bytes and CRC-32 as 8 hexadecimal digits.

    JSON holds no line break, so whatever happens to one line, the next one is found.

    >>> line_content(checked_line({"id": "é"}).rstrip(b"\n"))
    {'id': 'é'}
    """
    # A server may send lone surrogates; `_json.loads` takes them in this form.
    text = json.dumps(entry, ensure_ascii=False, separators=(",", ":"))
    data = text.encode("utf-8", "surrogatepass")
    return b"%08x %08x %s\n" % (len(data), zlib.crc32(data), data)


def line_content(line: bytes) -> dict[str, Any] | None:
    """The object in a `checked_line` without its end; None: it is not what was written."""
    head, data = line[:18].split(b" "), line[18:]
    if len(head) != 3 or head[2]:
        return None
    try:
        if (int(head[0], 16), int(head[1], 16)) != (len(data), zlib.crc32(data)):
            return None
        entry = _json.loads(data)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) else None
