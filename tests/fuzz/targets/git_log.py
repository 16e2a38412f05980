"""What git prints of a repository that others have written to: its log, the address it was cloned
from, names and modes of its files, and the files themselves."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import IO
from unittest.mock import patch

from tests.fuzz.common import expected_errors, must_hold

from fastrecall.corpus.code import git, source
from fastrecall.corpus.fetch import git_log
from fastrecall.corpus.fetch.names import is_repository


def run(data: bytes) -> None:
    with (
        patch.object(git_log, "run_git", lambda *_: data),
        patch.object(git, "run_git", lambda *_, **__: data),
        patch.object(git, "_batch", lambda *_: answers(data)),
    ):
        check(data)


@contextlib.contextmanager
def answers(data: bytes) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """A ``git cat-file`` that takes every question, and answers with *data*."""
    yield io.BytesIO(), io.BytesIO(data)


def check(data: bytes) -> None:
    with expected_errors():
        for number, ticket in enumerate(git_log.read_commits(Path(), "a/b"), 1):
            must_hold(ticket.number == number, "number")
    with expected_errors():
        must_hold(is_repository(git_log._name(Path())), "a name that GitHub does not give")
    with expected_errors():
        git.resolve_commit(Path(), "HEAD")
    with expected_errors():
        entries = git.commit_entries(Path(), "HEAD")
        must_hold([one.path for one in entries] == sorted(one.path for one in entries), "order")
    with expected_errors():
        seen = [file.path for file in source.files_of_commit(Path(), "HEAD")]
        must_hold(seen == [one.path for one in entries], "other files than there are")
    with expected_errors():
        for content in git.read_blobs(Path(), ["0" * 40] * 2):
            must_hold(content in data, "content that nobody sent")
