"""Which files make a corpus, and the records inside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from fastrecall.corpus._json import stream_records
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
    """One file; ``kind`` None: each record tells what it is."""

    path: Path
    kind: Kind | None

    @property
    def format(self) -> str | None:
        return _format(self.path)

    def records(self) -> Iterator[Mapping[str, Any]]:
        if not self.path.exists():
            raise CorpusError(f"{self.path}: there is no such file; expected {_EXPECTED}")
        if self.format == "Parquet":
            return stream_parquet(self.path)
        return stream_records(self.path)


def find_sources(place: Path) -> list[Source]:
    """The files that a folder or a file name stands for, PRs first.

    A folder is read in one format, the first that is there of JSON, Parquet and JSON lines. Of its
    .json files only those count whose names say what they hold.

    Raises:
        CorpusError: there is nothing there, or nothing that can be read.
    """
    if not place.exists():
        raise CorpusError(
            f"{place}: there is no such file or folder; expected a folder with {_EXPECTED}, "
            "or 'demo'"
        )
    if not place.is_dir():
        return [_source(place)]
    try:
        names = sorted(path for path in place.iterdir() if path.name[0] not in "._")
    except OSError as error:
        raise CorpusError(f"cannot read {place}: {error.strerror or error}") from error
    files = [_source(path) for path in names if _format(path) and not _doubled(path)]
    for chosen in ("JSON", "Parquet", "JSON lines"):
        sources = [
            source
            for source in files
            if source.format == chosen and (chosen != "JSON" or _names_tickets(source))
        ]
        if sources:
            return sorted(sources, key=lambda source: source.kind != "pr")
    listed = ", ".join(path.name for path in names[:5])
    raise CorpusError(
        f"{place}: no tickets in this folder (it holds {listed or 'nothing'}); expected {_EXPECTED}"
    )


def _source(path: Path) -> Source:
    stem = _plain_name(path).rpartition(".")[0] or path.name
    for word, kind in _KIND_WORDS.items():
        if stem.lower().endswith(word):
            return Source(path, kind)
    return Source(path, None)


def _names_tickets(source: Source) -> bool:
    return source.kind is not None or _plain_name(source.path).lower() == "tickets.json"


def _plain_name(path: Path) -> str:
    return path.name.removesuffix(".gz")


def _format(path: Path) -> str | None:
    return _FORMATS.get(Path(_plain_name(path)).suffix.lower())


def _doubled(path: Path) -> bool:
    """Whether this is the packed twin of a file that also lies there unpacked."""
    return path.suffix == ".gz" and path.with_suffix("").exists()
