"""Which files make a corpus, and the records inside them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from fastrecall.corpus._json import stream_records
from fastrecall.corpus._records import BadField, is_repository_name
from fastrecall.corpus.table import stream_parquet
from fastrecall.errors import CorpusError
from fastrecall.types import Kind

_FORMATS: Mapping[str, str] = {
    ".json": "JSON",
    ".jsonl": "JSON lines",
    ".ndjson": "JSON lines",
    ".parquet": "Parquet",
}
_KIND_WORDS: Mapping[str, Kind] = {
    "prs": "pr",
    "pulls": "pr",
    "pull_requests": "pr",
    "issues": "issue",
}
_EXPECTED = "prs.json and issues.json (also .gz), *.parquet, or *.jsonl (also .gz)"


class Source(NamedTuple):
    """A file (``path``) or a list of records; ``kind`` None: each record tells what it is."""

    where: str
    kind: Kind | None
    records: Callable[[], Iterator[Mapping[str, Any]]]
    may_be_cut: bool = False
    path: Path | None = None

    @classmethod
    def of(cls, where: str, records: Iterable[Mapping[str, Any]], kind: Kind | None) -> Source:
        """Records that are in memory."""
        return cls(where, kind, lambda: iter(records))

    @classmethod
    def at(cls, path: Path, kind: Kind | None) -> Source:
        """The records in a file."""
        if not _is_there(path):
            raise CorpusError(f"{path}: there is no such file; expected {_EXPECTED}")
        if _format(path) == "Parquet":
            return cls(str(path), kind, lambda: stream_parquet(path), path=path)
        return cls(str(path), kind, lambda: stream_records(path), may_be_cut=True, path=path)

    def bad_record(self, number: int, error: BadField) -> CorpusError:
        """The error for its record *number*, from 1."""
        return CorpusError(f"{self.where}, record {number}: {error}")


def find_sources(place: Path) -> list[Source]:
    """The files that a folder or a file name stands for, PRs first.

    A folder is read in one format, the first that is there of JSON, Parquet and JSON lines. Of its
    .json files only those count whose names say what they hold.

    Raises:
        CorpusError: there is nothing there, or nothing that can be read.
    """
    if not _is_there(place):
        name = place.as_posix()
        hint = f"; to fetch it: fastrecall fetch {name}" if is_repository_name(name) else ""
        raise CorpusError(
            f"{place}: there is no such file or folder; expected a folder with {_EXPECTED}, "
            f"or 'demo'{hint}"
        )
    if not place.is_dir():
        return [Source.at(place, _kind(place))]
    try:
        names = sorted(path for path in place.iterdir() if path.name[0] not in "._")
    except OSError as error:
        raise CorpusError(f"cannot read {place}: {error.strerror or error}") from error
    for chosen in ("JSON", "Parquet", "JSON lines"):
        files = [path for path in names if _format(path) == chosen and not _doubled(path)]
        if chosen == "JSON":
            files = [path for path in files if _names_tickets(path)]
        if files:
            sources = [Source.at(path, _kind(path)) for path in files]
            return sorted(sources, key=lambda source: source.kind != "pr")
    listed = ", ".join(path.name for path in names[:5])
    raise CorpusError(
        f"{place}: no tickets in this folder (it holds {listed or 'nothing'}); expected {_EXPECTED}"
    )


def _is_there(path: Path) -> bool:
    return os.path.exists(path)  # noqa: PTH110 - Path.exists raises when a name is too long


def _kind(path: Path) -> Kind | None:
    """What a file holds, as its name says: prs.json, ydb-issues.json.gz …"""
    stem = Path(_plain_name(path)).stem.lower()
    for word, kind in _KIND_WORDS.items():
        if stem.endswith(word):
            return kind
    return None


def _names_tickets(path: Path) -> bool:
    return _kind(path) is not None or _plain_name(path).lower() == "tickets.json"


def _plain_name(path: Path) -> str:
    return path.name.removesuffix(".gz")


def _format(path: Path) -> str | None:
    return _FORMATS.get(Path(_plain_name(path)).suffix.lower())


def _doubled(path: Path) -> bool:
    """Whether this is the packed twin of a file that also lies there unpacked."""
    return path.suffix == ".gz" and _is_there(path.with_suffix(""))
