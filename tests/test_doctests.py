"""Every example in a docstring of the package runs and says what it prints."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import fastrecall
from fastrecall.errors import MissingExtraError

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(fastrecall.__path__, "fastrecall.")
    if not module.name.endswith(("_core", "__main__"))
)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    try:
        module = importlib.import_module(name)
        failed, _ = doctest.testmod(module, optionflags=FLAGS)
    except (ImportError, doctest.UnexpectedException) as error:
        if isinstance(error, (ImportError, MissingExtraError)):
            pytest.skip(f"needs a package that is not installed: {error}")
        raise
    assert failed == 0
