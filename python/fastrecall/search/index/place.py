"""Where an index lies, and what it says of itself: all that is known before it is opened."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from fastrecall import _json
from fastrecall._checked import digest_of, is_file_name
from fastrecall._data import data_folder
from fastrecall.errors import CacheError

FORMAT = 2
MANIFEST = "manifest.json"

EVIDENCE_ARM, FUSION_ARM = "best", "hybrid_causal"
"""The arms that indexes are ranked by."""

BEST_UP_TO = 200_000
"""Tickets up to which `EVIDENCE_ARM` answers. It reads every vector for every question."""


def ranking_arm(tickets: int) -> str:
    """The arm that ranks an index of so many tickets; a larger one is searched approximately.

    >>> ranking_arm(20_000), ranking_arm(1_000_000)
    ('best', 'hybrid_causal')
    """
    return EVIDENCE_ARM if tickets <= BEST_UP_TO else FUSION_ARM


_PARTS: Mapping[str, Mapping[str, type | tuple[type, ...]]] = {
    "corpus": {"name": str, "issues": int, "prs": int, "nodes": int, "links": int},
    "model": {"name": str, "dim": int},
    "closeness": {"cosine": (int, float), "titles": int},
}
"""What whoever opens an index reads of the objects in its manifest."""


@dataclass(frozen=True)
class Manifest:
    """What an index holds and was made from.

    ``corpus`` has the name, fingerprint and counts; ``source`` what names the corpus to
    ``load_corpus`` and ``origins`` its files as (path, bytes, time in ns), to tell when they
    changed; ``model`` all that vectors depend on; ``ranked_by`` the arm whose parts are kept;
    ``files`` of each file its bytes and CRC-32.
    """

    build: str
    corpus: Mapping[str, Any]
    model: Mapping[str, Any]
    links: tuple[str, ...]
    closeness: Mapping[str, Any]
    ranked_by: str
    source: str = ""
    origins: tuple[tuple[str, int, int], ...] = ()
    files: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    format: int = FORMAT


def changed_at(stat: os.stat_result) -> int:
    """When a file last changed, in ns since 1970, by a time that no program can set.

    The usual one stays when an old copy is put in a file's place, or the clock was set back.
    """
    return stat.st_mtime_ns if os.name == "nt" else stat.st_ctime_ns


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
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
    return data_folder() / "indexes" / f"{name}-{digest[:10]}"


def read_manifest(folder: Path) -> Manifest | None:
    """What the index in *folder* is; None: there is none.

    Raises:
        CacheError: the manifest is damaged, or of another version.
    """
    path = folder / MANIFEST
    try:
        document = _json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise damaged(path, f"it cannot be read ({error})") from error
    if not isinstance(document, dict) or "sha256" not in document:
        raise damaged(path, "it is no manifest of an index")
    written = document.get("format")
    if written != FORMAT:
        newer = isinstance(written, int) and written > FORMAT
        raise CacheError(
            f"{path}: the index has format {written}, this version of fastrecall reads format "
            f"{FORMAT}; {'upgrade fastrecall, or ' if newer else ''}build it again: "
            f"{_rebuild(document)}"
        )
    known = {one.name for one in fields(Manifest)}
    try:
        if document.pop("sha256") != digest_of(document):
            raise ValueError("its checksum does not fit")
        manifest = _json.as_instance(
            Manifest, {name: value for name, value in document.items() if name in known}
        )
        _check_parts(manifest)
    except ValueError as error:
        raise damaged(path, str(error)) from error
    return manifest


def _check_parts(manifest: Manifest) -> None:
    """What is read of the manifest's objects must be there; raises ValueError."""
    for part, needed in _PARTS.items():
        given = getattr(manifest, part)
        for name, kind in needed.items():
            if not isinstance(given.get(name), kind):
                raise ValueError(f"{part} has no {name}")
    if manifest.ranked_by not in (EVIDENCE_ARM, FUSION_ARM):
        raise ValueError(f"it is ranked by {manifest.ranked_by!r}")
    for name in (manifest.build, *manifest.files):  # names of files, and no ways elsewhere
        if not is_file_name(name):
            raise ValueError(f"{name!r} is no name of a file")


def _rebuild(document: Mapping[str, Any]) -> str:
    """The command that builds an index of another version anew, as far as it tells."""
    source = document.get("source")
    if isinstance(source, str) and source:
        return f"fastrecall index {shlex.quote(source)}"
    return "fastrecall index"


def damaged(path: Path, what: str) -> CacheError:
    """The error for a file of an index that is not what was written."""
    return CacheError(f"{path}: the index is damaged, {what}; build it again: fastrecall index")
