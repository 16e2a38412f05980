"""The commits of a git repository on this machine as changes that may fix issues.

A commit becomes a node of kind ``pr`` (a change, as a PR is one): its number is its place in the
history, the first commit being 1; ``head`` is its id. Its repository is called ``git:OWNER/NAME``,
so that it can stand beside the PRs of OWNER/NAME; what it closes are issues of OWNER/NAME.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from fastrecall.corpus._records import bare_login
from fastrecall.corpus.code.git import run_git
from fastrecall.corpus.fetch.names import COMMITS, check_repository, is_repository
from fastrecall.corpus.fetch.store import Manifest, Store
from fastrecall.corpus.github import closing_references
from fastrecall.corpus.history import GIT
from fastrecall.corpus.markdown import mask
from fastrecall.errors import CorpusError
from fastrecall.types import Ticket

LOCAL = "local/"
"""The owner of repositories that say nothing about where they come from."""

# NUL stands between fields as between commits: it is the one character that none of them can hold.
_FIELDS = ("%H", "%an", "%ae", "%cn", "%ce", "%ct", "%B")
_FORMAT = "%x00".join(_FIELDS)
_MOMENT = re.compile(r"\d{1,11}", re.ASCII)
_UTF8 = ("-c", "i18n.logOutputEncoding=UTF-8", "-c", "log.showSignature=false")
_SITES = ("https://github.com/", "ssh://git@github.com/", "git@github.com:")


def import_git(path: str | os.PathLike[str], *, name: str | None = None) -> tuple[Manifest, Store]:
    """Store the commits that lead to HEAD, oldest first.

    Args:
        path: a checkout or a bare repository.
        name: ``owner/name`` of the project; else what the remote ``origin`` says, else
            ``local/FOLDER``.

    Raises:
        CorpusError: no repository, no commits, or git is not installed.
        CacheError: the data folder cannot be written.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise CorpusError(f"{folder}: there is no such folder; expected a git repository")
    repository = check_repository(name) if name else _name(folder)
    store = Store.of(COMMITS, repository)
    with store.lock():
        manifest = store.replace(
            read_commits(folder, repository),
            Manifest(repository=f"{GIT}{repository}", source="git"),
        )
    return manifest, store


def read_commits(folder: Path, repository: str) -> Iterator[Ticket]:
    """The commits that lead to HEAD as tickets, oldest first.

    Raises:
        CorpusError: no repository, no commits, or git is not installed.
    """
    is_on_github = not repository.startswith(LOCAL)
    log = run_git(
        folder,
        *_UTF8,
        "log",
        "-z",
        "--reverse",
        "--topo-order",
        f"--format={_FORMAT}",
        "HEAD",
        "--",
    )
    fields = log.decode("utf-8", "replace").split("\0")
    commits = zip(*(iter(fields),) * len(_FIELDS), strict=False)  # behind the last stands nothing
    for number, commit in enumerate(commits, start=1):
        sha, author, email, committer, committer_email, when, message = commit
        title, _, body = message.strip().partition("\n")
        prose = mask(message.lower())
        closes = {(one.repo or repository, one.number) for one in closing_references(prose)}
        moment = int(when) if _MOMENT.fullmatch(when) else 0  # a broken date is told as nothing
        yield Ticket(
            repo=f"{GIT}{repository}",
            kind="pr",
            number=number,
            title=title.strip(),
            body=body.strip(),
            created_at=moment,
            author=bare_login(author),
            is_bot=author.endswith("[bot]"),
            state="MERGED",
            closed_at=moment,
            merged_at=moment,
            closes=tuple(sorted(closes)),
            url=f"https://github.com/{repository}/commit/{sha}" if is_on_github else "",
            head=sha,
            commits=(f"Author: {author} <{email}>\nCommitter: {committer} <{committer_email}>\n",),
        )


def _name(folder: Path) -> str:
    try:
        origin = os.fsdecode(run_git(folder, "remote", "get-url", "origin")).strip()
    except CorpusError:
        origin = ""
    for site in _SITES:
        if origin.startswith(site):
            name = origin.removeprefix(site).strip("/").removesuffix(".git")
            if is_repository(name):
                return name
    local = f"{LOCAL}{folder.resolve().name.removesuffix('.git')}"
    return local if is_repository(local) else f"{LOCAL}repository"
