"""sha256 of model files, remembered while size, times and inode stay the same.

Of the times one (``ctime``) is the system's own: no program sets it, so that a file with a time
from before, or from a clock that was wrong, is not taken for the one that was there.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from pathlib import Path
from typing import Any

from fastrecall import _json
from fastrecall._checked import sealed, unsealed
from fastrecall._files import atomic_write
from fastrecall.errors import CacheError

_CHUNK = 1 << 20
_SHA256 = re.compile(r"[0-9a-f]{64}")


def sha256_of(path: Path, *, cache: Path | None = None) -> str:
    """The sha256 of a file in hex; *cache* is the cache folder where it may be remembered.

    Raises:
        OSError: the file cannot be read.
    """
    stat = path.stat()
    stamp = [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino]
    known = _read(cache) if cache else {}
    entry = known.get(str(path))
    if entry is not None and entry[:-1] == stamp:
        return str(entry[-1])
    digest = _hash(path)
    if cache:
        known[str(path)] = [*stamp, digest]
        # A digest that cannot be remembered is computed again next time.
        with contextlib.suppress(CacheError), atomic_write(_file(cache)) as file:
            json.dump(sealed(known), file, indent=1)
    return digest


def _hash(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _file(cache: Path) -> Path:
    return cache / "digests.json"


def _read(cache: Path) -> dict[str, list[Any]]:
    """What is remembered, by path: the stamp of a file and, last, its digest."""
    try:
        found = unsealed(_json.loads(_file(cache).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}
    return {path: entry for path, entry in found.items() if _is_entry(entry)}


def _is_entry(entry: object) -> bool:
    if not isinstance(entry, list) or len(entry) != 5:
        return False
    *stamp, digest = entry
    numbers = all(type(number) is int for number in stamp)
    return numbers and isinstance(digest, str) and _SHA256.fullmatch(digest) is not None
