"""Where the package keeps what it computed or downloaded."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from fastrecall._files import expanded
from fastrecall.errors import CacheError

NO_CACHE_HINT = "set FASTRECALL_CACHE to a folder that can be written, or use --no-cache"


def chosen_folder(cache: bool | Path) -> Path | None:
    """The folder that a ``cache`` option means: the usual one, one that is given, or none.

    >>> chosen_folder(False) is None
    True
    """
    if isinstance(cache, bool):
        return cache_folder() if cache else None
    return Path(cache)


def cache_folder() -> Path:
    """The cache folder; nothing is created by asking.

    ``FASTRECALL_CACHE`` wins, then ``fastrecall`` in ``XDG_CACHE_HOME``, then the platform's place:
    ``~/Library/Caches`` on macOS, ``%LOCALAPPDATA%`` on Windows, ``~/.cache`` elsewhere.

    Raises:
        CacheError: no home folder is known.

    >>> cache_folder().is_absolute()
    True
    """
    if chosen := os.environ.get("FASTRECALL_CACHE"):
        return expanded(chosen).absolute()
    # The XDG specification tells to ignore relative paths.
    if (xdg := os.environ.get("XDG_CACHE_HOME")) and Path(xdg).is_absolute():
        return Path(xdg) / "fastrecall"
    try:
        home = Path.home()
    except RuntimeError as error:
        raise CacheError(f"no home folder for the cache: {error}; {NO_CACHE_HINT}") from error
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "fastrecall"
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else home / "AppData" / "Local") / "fastrecall" / "Cache"
    return home / ".cache" / "fastrecall"
