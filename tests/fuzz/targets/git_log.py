"""What ``git log`` prints of a repository that others have written to."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

from tests.fuzz.common import expected_errors, must_hold

from fastrecall.corpus.fetch import git_log


def run(data: bytes) -> None:
    with patch.object(git_log, "run_git", lambda *_: data), expected_errors():
        for number, ticket in enumerate(git_log.read_commits(Path(), "a/b"), 1):
            must_hold(ticket.number == number, "number")
