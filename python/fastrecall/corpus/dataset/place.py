"""What a dataset of tickets says of itself: its manifest, written last."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from fastrecall import _json
from fastrecall._checked import digest_of, is_file_name, write_manifest
from fastrecall.corpus.window import AUTHOR_FILTER, WINDOW_ISSUES, WINDOW_PRS
from fastrecall.errors import CorpusError
from fastrecall.types import WindowCut

FORMAT = 1
MANIFEST = "dataset.json"
BUILDING = ".building"
"""The folder with the scratch files of a dataset in the making."""

COLUMNS = {"codes": "<i8", "created_at": "<i8", "untitled": "<i4"}
"""The arrays beside the tickets, as `TicketColumns` calls them, and what they hold."""

_KIND = "fastrecall tickets"


class Cut(NamedTuple):
    """How a corpus is cut; the defaults are those of `load_corpus`."""

    window_prs: int | None = WINDOW_PRS
    window_issues: int | None = WINDOW_ISSUES
    author_filter: str | None = AUTHOR_FILTER

    def __str__(self) -> str:
        shown = ["all" if size is None else f"{size:,}" for size in self[:2]]
        return f"{shown[0]} PRs, {shown[1]} issues, author filter {self.author_filter or ''!r}"


class StoredFile(NamedTuple):
    """A file of a dataset: the tickets or values it holds, its bytes and their CRC-32."""

    name: str
    rows: int
    bytes: int
    crc32: int


@dataclass(frozen=True)
class Manifest:
    """All that is known of a dataset before a ticket is read.

    ``files`` hold the tickets, in node order; ``columns`` the arrays of `TicketColumns`, by name.
    """

    name: str
    fingerprint: str
    cut: WindowCut
    made_with: Cut
    repos: tuple[str, ...]
    tells_closes: bool
    files: tuple[StoredFile, ...]
    columns: Mapping[str, StoredFile]
    generated: bool = False
    notes: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Make *folder* this dataset; its files must be there."""
        write_manifest(folder / MANIFEST, {"kind": _KIND, "format": FORMAT, **asdict(self)})

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """What *folder* says of itself.

        Raises:
            CorpusError: it is no dataset, is damaged, or was written by another version.
        """
        path = folder / MANIFEST
        try:
            document = _json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise CorpusError(
                f"{folder}: the dataset was begun and not finished; write it again with: "
                "fastrecall dataset"
            ) from error
        except (OSError, ValueError) as error:
            raise damaged(path, f"it cannot be read ({error})") from error
        if not isinstance(document, dict) or document.pop("kind", None) != _KIND:
            raise damaged(path, "it does not describe one")
        if document.get("format") != FORMAT:
            raise CorpusError(
                f"{path}: the dataset has format {shown_format(document)}, and this version of "
                f"fastrecall reads format {FORMAT}; write it again with: fastrecall dataset"
            )
        try:
            digest = document.pop("sha256", None)
            if digest != digest_of({"kind": _KIND, **document}):
                raise ValueError("its checksum does not fit")
            del document["format"]
            return _of(document)
        except ValueError as error:
            raise damaged(path, str(error)) from error


def _of(document: dict[str, Any]) -> Manifest:
    """What a document tells, looked at; raises ValueError for what no dataset tells."""
    manifest = _json.as_instance(Manifest, document)
    if sorted(manifest.columns) != sorted(COLUMNS):
        raise ValueError(f"columns are {', '.join(manifest.columns)}")
    rows = sum(file.rows for file in manifest.files)
    for file in (*manifest.files, *manifest.columns.values()):
        if not is_file_name(file.name) or min(file.rows, file.bytes) < 0:
            raise ValueError(f"{file.name!a} is no file of a dataset")
    for name, file in manifest.columns.items():
        if file.rows > rows or (name != "untitled" and file.rows != rows):
            raise ValueError(f"{name} has {file.rows} rows for {rows} tickets")
    return manifest


def shown_format(document: Mapping[str, Any]) -> str:
    """The format that a document claims, short enough for a message."""
    return ascii(document.get("format"))[:20]


def is_dataset(place: str | os.PathLike[str]) -> bool:
    """Whether a dataset of tickets lies there: whole, damaged, or begun and not finished.

    >>> is_dataset("demo")
    False
    """
    # Path.exists raises when a name is too long.
    return any(os.path.exists(Path(place) / name) for name in (MANIFEST, BUILDING))  # noqa: PTH110


def damaged(path: Path, what: str) -> CorpusError:
    """The error for a file of a dataset that is not what was written."""
    return CorpusError(
        f"{path}: the dataset is damaged, {what}; write it again with: fastrecall dataset"
    )
