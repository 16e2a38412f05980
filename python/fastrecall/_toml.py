"""TOML in one place: the standard library's reader, or its backport before Python 3.11."""

from __future__ import annotations

import sys
from importlib.resources import files
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["loads", "packaged"]


def loads(text: str) -> dict[str, Any]:
    """The tables of a text.

    Raises:
        ValueError: not TOML, nested too deeply, or a number with thousands of digits.

    >>> loads("a = 1")
    {'a': 1}
    """
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def packaged(package: str, name: str) -> dict[str, Any]:
    """Read a TOML file that is shipped inside *package*.

    >>> "rust" in packaged("fastrecall.corpus.code", "languages.toml")
    True
    """
    return loads(files(package).joinpath(name).read_text(encoding="utf-8"))
