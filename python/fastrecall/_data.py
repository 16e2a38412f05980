"""Where the package keeps what cannot simply be computed again: corpora, indexes, memories."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from fastrecall._files import expanded
from fastrecall.errors import CacheError


def data_folder() -> Path:
    """The data folder; nothing is created by asking.

    ``FASTRECALL_DATA`` wins, then ``fastrecall`` in ``XDG_DATA_HOME``, then the platform's place:
    ``~/Library/Application Support`` on macOS, ``%LOCALAPPDATA%`` on Windows, ``~/.local/share``
    elsewhere.

    Raises:
        CacheError: no home folder is known.

    >>> data_folder().is_absolute()
    True
    """
    if chosen := os.environ.get("FASTRECALL_DATA"):
        return expanded(chosen).absolute()
    # The XDG specification tells to ignore relative paths.
    if (xdg := os.environ.get("XDG_DATA_HOME")) and Path(xdg).is_absolute():
        return Path(xdg) / "fastrecall"
    try:
        home = Path.home()
    except RuntimeError as error:
        raise CacheError(
            f"no home folder for data: {error}; set FASTRECALL_DATA to a folder"
        ) from error
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "fastrecall"
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else home / "AppData" / "Local") / "fastrecall" / "Data"
    return home / ".local" / "share" / "fastrecall"
