"""Where an index lies, and what it says of itself: all that is known before it is opened."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from fastrecall._data import data_folder
from fastrecall.errors import CacheError

FORMAT = 1
MANIFEST = "manifest.json"


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


def index_folder(source: str) -> Path:
    """Where the index of a corpus belongs, in the data folder.

    *source* is what names the corpus to `load_corpus`: a fetched name, ``"demo"``, or a path, which
    is taken as an absolute one.

    >>> index_folder("demo").parent.name
    'indexes'
    """
    path = Path(source)
    key = str(path.resolve()) if path.exists() else source.lower()
    name = re.sub(r"[^a-z0-9._-]+", "-", Path(key).name.lower())[:40] or "index"
    return data_folder() / "indexes" / f"{name}-{hashlib.sha256(key.encode()).hexdigest()[:10]}"


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
        raise damaged(path, f"it cannot be read ({error})") from error
    if not isinstance(document, dict) or "sha256" not in document:
        raise damaged(path, "it is no manifest of an index")
    if document.get("format") != FORMAT:
        raise CacheError(
            f"{path}: the index has format {document.get('format')}, this version of fastrecall "
            f"reads format {FORMAT}; build it again"
        )
    if document.pop("sha256") != digest_of(document):
        raise damaged(path, "its checksum does not fit")
    known = {one.name for one in fields(Manifest)}
    return Manifest(**{name: value for name, value in document.items() if name in known})


def digest_of(document: Mapping[str, Any]) -> str:
    """sha256 of a manifest's content, however it is laid out."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def damaged(path: Path, what: str) -> CacheError:
    """The error for a file of an index that is not what was written."""
    return CacheError(f"{path}: the index is damaged, {what}; build it again: fastrecall index")
