"""Optional packages: imported on first use, named when missing."""

from __future__ import annotations

import importlib
from types import ModuleType

from fastrecall.errors import MissingExtraError


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import *module*, or say which extra brings it.

    Raises:
        MissingExtraError: the package is not installed.

    >>> require("json", extra="report", purpose="records").__name__
    'json'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"{purpose} needs the package '{module.partition('.')[0]}', which is not installed; "
            f"install it with: pip install 'fastrecall[{extra}]'"
        ) from error
