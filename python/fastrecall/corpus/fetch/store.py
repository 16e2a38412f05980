"""Fetched tickets on disk: one folder a repository, with a Parquet file and a manifest.

The manifest names the file with its hash and is replaced last, so that whoever opens the folder
sees one whole state, the old or the new. Folders are named in lower case, as GitHub compares names.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from fastrecall import _json
from fastrecall._checked import is_file_name, sealed, unsealed
from fastrecall._data import data_folder
from fastrecall._files import atomic_write, remove_leftovers
from fastrecall._lock import locked
from fastrecall.corpus.build import node_order
from fastrecall.corpus.fetch.names import COMMITS, is_repository
from fastrecall.corpus.history import GIT
from fastrecall.corpus.table import from_table, to_table
from fastrecall.errors import CorpusError
from fastrecall.types import Ticket

MANIFEST = "manifest.json"
JOURNAL = "journal.jsonl"
LOCK = "lock"
SCHEMA = 1

ALL_OF_OWNER = "/*"
"""Behind an owner's name: everything that was fetched of that owner."""

_MOST_RENAMES = 10
"""Old names that are followed one after another; two that point to each other end there."""

JOINED = "+"
"""Between names: several repositories as one corpus."""


@dataclass(frozen=True)
class Manifest:
    """What is stored, and how far it reaches.

    ``cursor`` is the server's time (seconds since 1970) up to which everything is known; None: not
    known, so the next fetch brings everything. ``unlisted`` counts, by kind, tickets that the
    server counts but never lists. ``source`` is the server, ``gh`` or ``git``.
    """

    repository: str
    source: str
    cursor: int | None = None
    comments: bool = False
    commits: bool = False
    counts: Mapping[str, int] = field(default_factory=dict)
    unlisted: Mapping[str, int] = field(default_factory=dict)
    file: str = ""
    sha256: str = ""
    requests: int = 0
    notes: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    schema: int = SCHEMA


class Store:
    """The folder of one repository."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def of(cls, host: str, repository: str) -> Store:
        """Where the tickets of a repository on a server belong."""
        owner, name = repository.lower().split("/")
        return cls(data_folder() / host / owner / name)

    def manifest(self) -> Manifest | None:
        """What is stored here; None: nothing.

        Raises:
            CorpusError: the manifest is damaged or of a newer version.
        """
        path = self.folder / MANIFEST
        try:
            data = _json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise CorpusError(f"{path}: not a readable manifest ({error}); fetch again") from error
        return _manifest(path, data)

    def file(self, manifest: Manifest) -> Path:
        """The file of the tickets.

        Raises:
            CorpusError: it is missing, or not the one that the manifest speaks of.
        """
        try:
            self._data(manifest)
        except CorpusError:
            newer = self.manifest()
            if newer is None or newer.file == manifest.file:
                raise
            return self.file(newer)  # a fetch has ended since
        return self.folder / manifest.file

    def moved_to(self) -> str | None:
        """The name that the repository has now, if it was renamed since."""
        try:
            data = _json.loads((self.folder / MANIFEST).read_text(encoding="utf-8"))
            name = data["moved_to"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return name if isinstance(name, str) and is_repository(name) else None

    def tickets(self, manifest: Manifest) -> list[Ticket]:
        """The stored tickets.

        Raises:
            CorpusError: the file is missing, or not the one that the manifest speaks of.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        data = self._data(manifest)
        try:
            return from_table(pq.read_table(pa.BufferReader(data)))
        except (pa.ArrowException, OSError, ValueError) as error:
            reason = str(error).partition("\n")[0]
            raise CorpusError(
                f"{self.folder / manifest.file}: not tickets that fastrecall stored ({reason}); "
                f"remove the folder and fetch again: fastrecall fetch {manifest.repository}"
            ) from error

    def _data(self, manifest: Manifest) -> bytes:
        path = self.folder / manifest.file
        try:
            data = path.read_bytes()
        except OSError as error:
            raise CorpusError(
                f"cannot read {path}: {error.strerror or error}; fetch again"
            ) from error
        if sha256(data).hexdigest() != manifest.sha256:
            raise CorpusError(
                f"{path}: the contents are not what {MANIFEST} says; remove the folder and fetch "
                f"again: fastrecall fetch {manifest.repository}"
            )
        return data

    def replace(self, tickets: Iterable[Ticket], manifest: Manifest) -> Manifest:
        """Store tickets in node order; readers see the old state or this one.

        Raises:
            CacheError: the folder cannot be written.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        from fastrecall import _core

        ordered = sorted(tickets, key=node_order)
        sink = pa.BufferOutputStream()
        pq.write_table(
            to_table(ordered),
            sink,
            compression="zstd",
            row_group_size=8192,
            write_page_checksum=True,  # for whoever reads the file without the manifest
        )
        data = sink.getvalue().to_pybytes()
        digest = sha256(data).hexdigest()
        prs = sum(ticket.kind == "pr" for ticket in ordered)
        manifest = replace(
            manifest,
            counts={"issues": len(ordered) - prs, "prs": prs},
            file=f"tickets-{digest[:12]}.parquet",
            sha256=digest,
            versions={"fastrecall": _core.__version__, "pyarrow": pa.__version__},
        )
        with atomic_write(self.folder / manifest.file, binary=True) as file:
            file.write(data)
        self._write(asdict(manifest))
        self._remove_others(manifest.file)
        return manifest

    def move_to(self, repository: str) -> None:
        """Leave only a pointer to the repository's new name here."""
        self._write({"schema": SCHEMA, "moved_to": repository})
        self._remove_others("")
        (self.folder / JOURNAL).unlink(missing_ok=True)

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other processes from fetching into this folder; the system frees it at any death.

        Raises:
            CacheError: somebody else is fetching, or the folder cannot be made.
        """
        busy = f"another process is fetching into {self.folder}; wait until it is done"
        with locked(self.folder / LOCK, busy=busy):
            yield

    def _write(self, data: Mapping[str, Any]) -> None:
        with atomic_write(self.folder / MANIFEST) as file:
            json.dump(sealed(data), file, indent=1, ensure_ascii=False)
            file.write("\n")

    def _remove_others(self, keep: str) -> None:
        remove_leftovers(self.folder, MANIFEST)
        remove_leftovers(self.folder, "tickets-*.parquet")
        for path in self.folder.glob("*.parquet"):
            if path.name != keep:
                with contextlib.suppress(OSError):  # open elsewhere: goes next time
                    path.unlink()


def _manifest(path: Path, data: Any) -> Manifest | None:
    if isinstance(data, dict):
        try:
            data = unsealed(data)
        except ValueError as error:
            raise CorpusError(
                f"{path}: the manifest is damaged ({error}); remove the folder and fetch again"
            ) from error
    if isinstance(data, dict) and "moved_to" in data:
        return None
    known = {one.name for one in fields(Manifest)}
    if not isinstance(data, dict) or data.get("schema") != SCHEMA or not known >= data.keys():
        raise CorpusError(
            f"{path}: written by another version of fastrecall; remove the folder and fetch again"
        )
    try:
        manifest = _json.as_instance(Manifest, data)
    except ValueError as error:
        raise CorpusError(f"{path}: not a readable manifest ({error}); fetch again") from error
    # The name becomes a path and must not lead out of the folder.
    if not is_file_name(manifest.file):
        raise CorpusError(f"{path}: not a readable manifest (file {manifest.file!r}); fetch again")
    return manifest


def is_fetched_name(name: str) -> bool:
    """Whether a name has the form of something fetched: A/B, git:A/B, OWNER/*, joined by ``+``.

    >>> [is_fetched_name(name) for name in ("a/b", "a/b+git:a/b", "a/*", "demo", "/tmp/x")]
    [True, True, True, False, False]
    """
    parts = [part.removeprefix(GIT) for part in name.split(JOINED)]
    return all(
        is_repository(f"{part[: -len(ALL_OF_OWNER)]}/all" if part.endswith(ALL_OF_OWNER) else part)
        for part in parts
    )


def fetched_files(name: str) -> tuple[str, list[Path]]:
    """The Parquet files behind a name that `is_fetched_name`, and the name as GitHub spells it.

    Raises:
        CorpusError: something was not fetched.
    """
    names: list[str] = []
    files: list[Path] = []
    for part in name.split(JOINED):
        found = list(_all_of(part)) if part.endswith(ALL_OF_OWNER) else [_find(part)]
        names += [manifest.repository for _, manifest in found]
        files += [store.file(manifest) for store, manifest in found]
    return name if ALL_OF_OWNER in name else JOINED.join(names), files


def _find(repository: str) -> tuple[Store, Manifest]:
    """The stored state of a repository; github.com comes before other servers."""
    owner, name = repository.removeprefix(GIT).lower().split("/")
    root = data_folder()
    hosts = COMMITS if repository.startswith(GIT) else "*"
    found: dict[str, tuple[Store, Manifest]] = {}
    for folder in sorted(root.glob(f"{hosts}/{owner}/{name}")):
        if hosts != COMMITS and folder.parent.parent.name == COMMITS:
            continue
        store = Store(folder)
        for _ in range(_MOST_RENAMES):
            if new_name := store.moved_to():
                store = Store(folder.parent.parent / Path(*new_name.lower().split("/")))
        if manifest := store.manifest():
            found[folder.parent.parent.name] = store, manifest
    if "github.com" in found:
        return found["github.com"]
    if len(found) > 1:
        raise CorpusError(
            f"{repository} was fetched from several servers ({', '.join(found)}); give the folder "
            f"below {root}"
        )
    for one in found.values():
        return one
    what = "--git PATH" if hosts == COMMITS else repository
    raise CorpusError(
        f"{repository}: no such folder, and it was not fetched; to fetch it: "
        f"fastrecall fetch {what}"
    )


def _all_of(part: str) -> Iterator[tuple[Store, Manifest]]:
    """Everything that was fetched from servers (or, behind ``git:``, from checkouts)."""
    owner = part.removeprefix(GIT).removesuffix(ALL_OF_OWNER)
    found = False
    for path in sorted(data_folder().glob(f"*/{owner.lower()}/*/{MANIFEST}")):
        is_git = path.parent.parent.parent.name == COMMITS
        store = Store(path.parent)
        if is_git == part.startswith(GIT) and (manifest := store.manifest()):
            found = True
            yield store, manifest
    if not found:
        raise CorpusError(
            f"nothing was fetched of {owner}; to fetch all of it: fastrecall fetch --org {owner}"
        )


def renamed(ticket: Ticket, old: str, new: str) -> Ticket:
    """A ticket of a repository that has another name now."""
    closes = ticket.closes
    if closes is not None:
        closes = tuple((new if repo == old else repo, number) for repo, number in closes)
    return replace(
        ticket,
        repo=new if ticket.repo == old else ticket.repo,
        closes=closes,
        url=ticket.url.replace(f"/{old}/", f"/{new}/", 1),
    )
