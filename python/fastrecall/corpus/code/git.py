"""Read a source tree through git: what a checkout tracks, or the files of a commit.

Only plumbing commands: the work tree is not touched, and a bare repository will do.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from fastrecall.errors import CorpusError

# A hook or a lazy download configured in a foreign repository must not run because we list it.
_SAFE = ("-c", "core.fsmonitor=false", "-c", "core.quotepath=false")
_QUIET = {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}
_ELSEWHERE = (
    *("GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"),
    *("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE"),
    *("GIT_GRAFT_FILE", "GIT_SHALLOW_FILE"),
)
"""Set in git's own hooks: with them git reads the hook's repository, whatever folder is named."""

_SUBMODULE, _SYMLINK = "160000", "120000"
_ENTRY = re.compile(rb"([0-7]{6}) [a-z]+ ([0-9a-f]{40,64})\t(.+)", re.DOTALL)
_OBJECT = re.compile(rb"[0-9a-f]{40,64} [a-z]+ ([0-9]{1,15})\n")


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """A file of a commit; ``size`` is -1 when the object is not in the repository."""

    path: str
    oid: str
    size: int
    is_symlink: bool
    is_submodule: bool


def checkout_files(folder: Path) -> list[str] | None:
    """Files that a checkout tracks or would track, relative to *folder*.

    ``None`` when *folder* is not in a checkout (or is ignored by the one around it, or git is not
    installed): the caller then walks the folder itself.
    """
    try:
        inside = run_git(folder, "rev-parse", "--is-inside-work-tree")
        if inside.strip() != b"true" or _ignored(folder):
            return None
        listed = run_git(folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    except CorpusError:
        return None
    return sorted({os.fsdecode(name) for name in listed.split(b"\0") if name})


def resolve_commit(repository: Path, commit: str) -> str:
    """The full id of a commit, tag or branch.

    Raises:
        CorpusError: no git, no repository, or no such commit.
    """
    wanted = f"{commit}^{{commit}}"
    problem = f"{repository} has no commit {commit!r}"
    found = run_git(
        repository, "rev-parse", "--verify", "--end-of-options", wanted, problem=problem
    )
    return os.fsdecode(found).strip()


def commit_entries(repository: Path, commit: str) -> list[TreeEntry]:
    """The files of *commit* below *repository*, sorted by path.

    Raises:
        CorpusError: git cannot read the tree.
    """
    listed = run_git(repository, "ls-tree", "-r", "-z", commit)
    rows = []
    for line in filter(None, listed.split(b"\0")):
        entry = _ENTRY.fullmatch(line)
        if entry is None:
            raise CorpusError(
                f"{repository}: git lists {ascii(line[:60])[1:]}; expected mode, kind, object and "
                "path, so this version of git cannot be used"
            )
        mode, oid, path = entry.groups()
        rows.append((os.fsdecode(path), oid.decode(), mode.decode()))
    rows.sort()
    sizes = _sizes(repository, [oid for _, oid, mode in rows if mode != _SUBMODULE])
    return [
        TreeEntry(path, oid, sizes.get(oid, -1), mode == _SYMLINK, mode == _SUBMODULE)
        for path, oid, mode in rows
    ]


def read_blobs(repository: Path, oids: Sequence[str]) -> Iterator[bytes]:
    """The contents of objects that are known to exist, in the order asked.

    Raises:
        CorpusError: an object cannot be read.
    """
    with _batch(repository, "--batch") as (ask, answers):
        for oid in oids:
            # One question, one answer: writing all first would fill both pipes and stop for good.
            ask.write(f"{oid}\n".encode())
            ask.flush()
            header = _OBJECT.fullmatch(answers.readline())
            data = answers.read(int(header[1])) if header else b""
            # Behind the last byte stands a line break: git that broke off has not sent it.
            if header is None or len(data) != int(header[1]) or answers.read(1) != b"\n":
                raise CorpusError(f"{repository}: git cannot read object {oid}; try: git fsck")
            yield data


def _sizes(repository: Path, oids: Sequence[str]) -> dict[str, int]:
    with _batch(repository, "--batch-check") as (ask, answers):
        sizes = {}
        for oid in dict.fromkeys(oids):
            ask.write(f"{oid}\n".encode())
            ask.flush()
            answer = answers.readline()
            if not answer:
                raise _broke_off(repository)
            if told := _OBJECT.fullmatch(answer):
                sizes[oid] = int(told[1])
    return sizes


@contextmanager
def _batch(repository: Path, mode: str) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    process = subprocess.Popen(
        ["git", *_SAFE, "-C", os.fspath(repository), "cat-file", mode],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=_environment(),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        with process:
            yield process.stdin, process.stdout
            process.stdin.close()
    except BrokenPipeError as error:
        raise _broke_off(repository) from error


def _broke_off(repository: Path) -> CorpusError:
    return CorpusError(f"{repository}: git ended before it had told of all files; try: git fsck")


def _environment() -> dict[str, str]:
    return {name: it for name, it in os.environ.items() if name not in _ELSEWHERE} | _QUIET


def _ignored(folder: Path) -> bool:
    """Whether the checkout around *folder* ignores it: then its list would be empty."""
    command = ["git", *_SAFE, "-C", os.fspath(folder), "check-ignore", "-q", "."]
    done = subprocess.run(command, capture_output=True, env=_environment(), check=False)
    return done.returncode == 0


def run_git(folder: Path, *arguments: str, problem: str | None = None) -> bytes:
    """What a git command prints, run in *folder* and kept from doing anything else there.

    Raises:
        CorpusError: git is not installed, or the command fails; *problem* begins the sentence.
    """
    command = ["git", *_SAFE, "-C", os.fspath(folder), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, env=_environment(), check=False)
    except FileNotFoundError:
        raise CorpusError(
            f"reading {folder} through git needs git, which is not installed"
        ) from None
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        reason = said[-1] if said else f"git {arguments[0]} failed"
        raise CorpusError(f"{problem or folder}: {reason}")
    return done.stdout
