"""TOML in one place: the standard library's reader, or its backport before Python 3.11."""

from __future__ import annotations

import sys
from importlib.resources import files
from typing import Any

if sys.version_info >= (3, 11):
    from tomllib import TOMLDecodeError, loads
else:
    from tomli import TOMLDecodeError, loads

__all__ = ["TOMLDecodeError", "loads", "packaged"]


def packaged(package: str, name: str) -> dict[str, Any]:
    """Read a TOML file that is shipped inside *package*.

    >>> "rust" in packaged("fastrecall.corpus.code", "languages.toml")
    True
    """
    return loads(files(package).joinpath(name).read_text(encoding="utf-8"))
