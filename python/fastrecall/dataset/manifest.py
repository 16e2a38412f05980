"""The manifest of a dataset: what it holds and which files; written last."""

from __future__ import annotations

import contextlib
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from fastrecall import _json
from fastrecall._checked import digest_of, write_manifest
from fastrecall._files import remove_leftovers
from fastrecall.dataset.own import FILES, FileEntry, is_foreign
from fastrecall.dataset.storage import Storage
from fastrecall.errors import CacheError

MANIFEST = "manifest.json"
VERSION = 1
_FORMAT = "fastrecall vectors"


@dataclass(frozen=True)
class Manifest:
    """A whole dataset. ``about`` says in any words what the vectors are of."""

    dim: int
    storage: Storage
    files: tuple[FileEntry, ...]
    about: dict[str, Any] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """Vectors in all files."""
        return sum(file.rows for file in self.files)

    @property
    def bytes(self) -> int:
        """Bytes of all files."""
        return sum(file.bytes for file in self.files)


def finish_dataset(folder: Path, manifest: Manifest) -> None:
    """Make a dataset of the files in a folder; files of an earlier, longer one go.

    Raises:
        CacheError: the folder cannot be written.
    """
    document = {
        "format": _FORMAT,
        "version": VERSION,
        "dim": manifest.dim,
        "storage": manifest.storage,
        "rows": manifest.rows,
        "bytes": manifest.bytes,
        "about": manifest.about,
        "files": [asdict(file) for file in manifest.files],
    }
    write_manifest(folder / MANIFEST, document)
    listed = {file.name for file in manifest.files}
    for path in folder.glob(FILES):
        if path.name not in listed:
            with contextlib.suppress(OSError):  # nobody reads what is not listed
                path.unlink()


def read_manifest(folder: Path) -> Manifest | None:
    """What a folder's manifest says, or ``None`` when there is none of ours.

    Raises:
        CacheError: it cannot be read, is damaged, or of a newer version.
    """
    path = folder / MANIFEST
    try:
        document = _json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise _damaged(path, str(error)) from error
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        return None
    version = document.get("version")
    if isinstance(version, int) and version > VERSION:
        raise CacheError(
            f"{path} is of version {version}, this fastrecall reads up to {VERSION}; "
            "update fastrecall"
        )
    try:
        if document.pop("sha256", None) != digest_of(document):
            raise ValueError("its checksum does not fit")
        manifest = _json.as_instance(
            Manifest, {key: document.get(key) for key in ("dim", "storage", "files", "about")}
        )
    except ValueError as error:
        raise _damaged(path, str(error)) from error
    for file in manifest.files:
        if not fnmatchcase(file.name, FILES) or not file.name.isascii() or "/" in file.name:
            raise _damaged(path, f"{file.name!a} is no name of a file")
    return manifest


def take_over(folder: Path) -> Manifest | None:
    """Make sure that all in a folder that writing replaces is ours; returns its manifest, if any.

    Only for whoever holds its lock: what killed writers left beside their files is removed.

    Raises:
        CacheError: it holds a manifest or files of vectors of somebody else's, or of a newer
            version.
    """
    manifest = read_manifest(folder)
    others = [path for path in sorted(folder.glob(FILES)) if is_foreign(path)]
    if manifest is None and (folder / MANIFEST).exists():
        others.append(folder / MANIFEST)
    if others:
        raise CacheError(f"{others[0]} is not of a vector dataset; choose another folder")
    for name in (MANIFEST, FILES):
        remove_leftovers(folder, name)
    return manifest


def forget_manifest(folder: Path) -> None:
    """Make the dataset an unfinished one, before any of its files changes.

    Raises:
        CacheError: the folder cannot be written.
    """
    try:
        (folder / MANIFEST).unlink(missing_ok=True)
    except OSError as error:
        raise CacheError(f"cannot write {folder}: {error.strerror or error}") from error


def _damaged(path: Path, reason: str) -> CacheError:
    return CacheError(
        f"{path} is damaged: {reason}; restore it, or remove it and write the dataset again "
        "(whole files are kept)"
    )
