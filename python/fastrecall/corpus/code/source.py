"""The files of a source tree, from disk or from a commit, and what was left out and why."""

from __future__ import annotations

import contextlib
import os
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, TypeAlias

from fastrecall._lazy import require
from fastrecall.corpus.code import git
from fastrecall.errors import CorpusError

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

Rules: TypeAlias = "tuple[tuple[Path, GitIgnoreSpec], ...]"
"""The ``.gitignore`` files from the root down, each with its folder."""

MAX_BYTES = 1_000_000
"""Larger files are data or generated; nobody asks where a decision stands in them."""

MAX_LINE = 20_000
"""A longer line means minified or generated text, which cannot be cut by lines."""

LOCK_FILES = frozenset(
    [
        *("Cargo.lock", "Gemfile.lock", "Pipfile.lock", "bun.lock", "composer.lock", "flake.lock"),
        *("go.sum", "npm-shrinkwrap.json", "package-lock.json", "pdm.lock", "pnpm-lock.yaml"),
        *("poetry.lock", "uv.lock", "yarn.lock"),
    ]
)
"""Written by package managers: thousands of lines that answer no question."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that is not in the corpus, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A text file: path relative to the root with ``/``, lines without their ends."""

    path: str
    data: bytes

    @property
    def text(self) -> str:
        """The content; bytes that are not UTF-8 become U+FFFD, a byte-order mark is dropped."""
        return self.data.decode("utf-8", errors="replace").removeprefix("\ufeff")


def files_on_disk(root: Path) -> Iterator[SourceFile | Skipped]:
    """Every file below *root* in path order; .gitignore is respected.

    In a checkout git itself says what is ignored; elsewhere the ``.gitignore`` files are read.

    Raises:
        CorpusError: *root* is not a folder, or cannot be read.
    """
    if not root.is_dir():
        what = "is a file" if root.exists() else "does not exist"
        raise CorpusError(f"{root} {what}; expected the folder of a source tree")
    listed = git.checkout_files(root)
    found: Iterable[str | Skipped] = _walk(root) if listed is None else listed
    for one in sorted(found, key=lambda one: one.path if isinstance(one, Skipped) else one):
        yield one if isinstance(one, Skipped) else _from_disk(root, one)


def text_file(path: Path) -> SourceFile | Skipped:
    """One file by itself, named as it was given."""
    found = _from_disk(path.parent, path.name)
    if isinstance(found, Skipped):
        return Skipped(path.as_posix(), found.reason)
    return SourceFile(path.as_posix(), found.data)


def files_of_commit(repository: Path, commit: str) -> Iterator[SourceFile | Skipped]:
    """Every file of *commit* in path order, read through git.

    Raises:
        CorpusError: git cannot read the commit.
    """
    entries = git.commit_entries(repository, commit)
    reasons = [
        _why_not_by_name(entry.path)
        or ("symbolic link" if entry.is_symlink else None)
        or ("submodule" if entry.is_submodule else None)
        or ("object is not in this clone" if entry.size < 0 else None)
        or _why_not_by_size(entry.size)
        for entry in entries
    ]
    wanted = [entry.oid for entry, reason in zip(entries, reasons, strict=True) if not reason]
    blobs = git.read_blobs(repository, wanted)
    for entry, reason in zip(entries, reasons, strict=True):
        yield Skipped(entry.path, reason) if reason else _as_text(entry.path, next(blobs))


def _from_disk(root: Path, name: str) -> SourceFile | Skipped:
    path = root / name
    reason = _why_not_by_name(name)
    if reason is None and path.is_symlink():
        reason = "symbolic link"
    if reason is None and path.is_dir():
        reason = "submodule"
    if reason is not None:
        return Skipped(name, reason)
    try:
        if not path.is_file():
            return Skipped(name, "not a regular file" if path.exists() else "deleted")
        reason = _why_not_by_size(path.stat().st_size)
        return Skipped(name, reason) if reason else _as_text(name, path.read_bytes())
    except OSError as error:
        return Skipped(name, f"cannot be read: {error.strerror or error}")


def _why_not_by_name(path: str) -> str | None:
    if any(0xDC80 <= ord(char) <= 0xDCFF for char in path):
        return "path is not UTF-8"
    if PurePosixPath(path).name in LOCK_FILES:
        return "lock file"
    return None


def _why_not_by_size(size: int) -> str | None:
    return f"larger than {MAX_BYTES:,} bytes ({size:,})" if size > MAX_BYTES else None


def _as_text(path: str, data: bytes) -> SourceFile | Skipped:
    if b"\0" in data:
        return Skipped(path, "binary")
    longest = max(map(len, data.split(b"\n")))
    if longest > MAX_LINE:
        return Skipped(path, f"minified or generated (a line of {longest:,} bytes)")
    if not data.strip():
        return Skipped(path, "empty")
    return SourceFile(path, data.replace(b"\r\n", b"\n"))


def _walk(root: Path) -> Iterator[str | Skipped]:
    """Files below *root* that no ``.gitignore`` on the way down excludes."""
    waiting: list[tuple[Path, Rules]] = [(root, ())]
    while waiting:
        folder, rules = waiting.pop()
        try:
            ignore = folder / ".gitignore"
            if ignore.is_file():
                rules = (*rules, (folder, _patterns(ignore.read_bytes())))
            entries = list(os.scandir(folder))
        except OSError as error:
            if folder == root:
                raise CorpusError(f"cannot read {root}: {error.strerror or error}") from error
            name = folder.relative_to(root).as_posix()
            yield Skipped(name, f"cannot be read: {error.strerror or error}")
            continue
        for entry in entries:
            path = Path(entry.path)
            is_folder = entry.is_dir(follow_symlinks=False)
            if entry.name == ".git" or _ignored(path, is_folder, rules):
                continue
            if is_folder:
                waiting.append((path, rules))
            else:
                yield path.relative_to(root).as_posix()


def _patterns(data: bytes) -> GitIgnoreSpec:
    """The patterns in a ``.gitignore`` file; what is none is passed over, as git does."""
    pathspec = require("pathspec", extra="code", purpose="reading .gitignore outside a checkout")
    patterns = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of brackets within brackets
        for line in data.decode("utf-8-sig", errors="replace").split("\n"):
            with contextlib.suppress(ValueError, re.error):
                patterns += pathspec.GitIgnoreSpec.from_lines([line.removesuffix("\r")]).patterns
    spec: GitIgnoreSpec = pathspec.GitIgnoreSpec(patterns)
    return spec


def _ignored(path: Path, is_folder: bool, rules: Rules) -> bool:
    """The deepest ``.gitignore`` with an opinion decides, as in git."""
    for base, spec in reversed(rules):
        name = path.relative_to(base).as_posix() + ("/" if is_folder else "")
        verdict = spec.check_file(name).include
        if verdict is not None:
            return verdict
    return False
