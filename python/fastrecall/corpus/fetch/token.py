"""The access token: from the environment or from ``gh``, never kept anywhere."""

from __future__ import annotations

import os
import subprocess

from fastrecall.errors import InputError

_VARIABLES = ("GITHUB_TOKEN", "GH_TOKEN")
_VARIABLES_ELSEWHERE = ("GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN")
_PATIENCE = 10  # seconds for `gh`, which may have to ask a key ring


def find_token(host: str) -> str:
    """The token for a server, without a word about where it came from or what it is.

    Looks at ``GITHUB_TOKEN`` and ``GH_TOKEN`` (for servers other than github.com first at
    ``GH_ENTERPRISE_TOKEN`` and ``GITHUB_ENTERPRISE_TOKEN``), then asks ``gh auth token``.

    Raises:
        InputError: there is none, or it could not stand in a request.
    """
    names = _VARIABLES if host == "github.com" else (*_VARIABLES_ELSEWHERE, *_VARIABLES)
    for name in names:
        if token := os.environ.get(name, "").strip():
            return _checked(token, name)
    if token := _ask_gh(host):
        return _checked(token, "gh auth token")
    raise InputError(
        f"no token for {host}: GitHub answers questions about whole repositories only to somebody "
        "it knows; set GITHUB_TOKEN (any token that can read the repository; for public ones no "
        "scope is needed), or log in with `gh auth login`"
    )


def _checked(token: str, where: str) -> str:
    # Anything else could smuggle a line into the request, and its text would be quoted in an error.
    if token.isascii() and token.isprintable() and " " not in token:
        return token
    raise InputError(f"what {where} gives is no token: it has blanks or unprintable characters")


def _ask_gh(host: str) -> str:
    command = ["gh", "auth", "token", "--hostname", host]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return os.fsdecode(done.stdout).strip() if done.returncode == 0 else ""
