"""Which files a user means, and what they hold."""

from __future__ import annotations

import glob
import re
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path

from fastrecall._files import expanded
from fastrecall.dataset.foreign import SUFFIXES, survey
from fastrecall.dataset.own import FileEntry, OwnFile, is_own
from fastrecall.errors import InputError


def files_of(source: str | PathLike[str] | Sequence[str | PathLike[str]]) -> list[Path]:
    """The files that a user means.

    Raises:
        InputError: there is nothing, or it cannot be read.
    """
    if not isinstance(source, (str, PathLike)):
        return [expanded(path).absolute() for path in source]
    path = expanded(source)
    try:
        if path.is_file():
            return [path.absolute()]
        if path.is_dir():
            found = [one for one in path.iterdir() if one.suffix.lower() in SUFFIXES]
        elif glob.has_magic(str(path)):
            found = [Path(one) for one in glob.glob(str(path), recursive=True)]  # noqa: PTH207
        else:
            raise InputError(f"{source} does not exist; expected a folder or file of vectors")
        # Names with a dot or underscore are what other writers leave beside their data.
        found = [one.absolute() for one in found if one.is_file() and one.name[0] not in "._"]
    except OSError as error:
        raise InputError(
            f"{source} cannot be read: {error.strerror or error}; expected a folder or file of "
            "vectors"
        ) from error
    if not found:
        raise InputError(f"no files of vectors in {source}; expected some of {', '.join(SUFFIXES)}")
    return sorted(found, key=_natural)


def _natural(path: Path) -> tuple[list[tuple[int, str]], str]:
    """Sorts numbers in names by their value; by spelling where that is the same."""
    parts = re.split(r"([0-9]+)", str(path))
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts], str(path)


def survey_files(paths: list[Path], column: str) -> tuple[tuple[FileEntry, ...], int]:
    """Rows, sizes and the one dimension of files, from their heads."""
    files: list[FileEntry] = []
    dim: int | None = None
    its_dim: int | None
    first = Path()
    for path in paths:
        if is_own(path):
            own = OwnFile(path)
            entry, its_dim = own.entry, own.proof.dim
        else:
            rows, its_dim = survey(path, column)
            entry = FileEntry("", rows, path.stat().st_size)
        files.append(replace(entry, name=str(path)))
        if its_dim is None:
            continue
        if dim is None:
            dim, first = its_dim, path
        elif its_dim != dim:
            raise InputError(
                f"{path}, column {column!r}: vectors of {its_dim} numbers, those of {first} have "
                f"{dim}; expected the same in all files"
            )
    if dim is None or dim < 1:
        raise InputError(
            f"no vectors in {', '.join(map(str, paths[:3])) or 'no files'}; expected files "
            f"({', '.join(SUFFIXES)}) with vectors of one number or more"
        )
    return tuple(files), dim
