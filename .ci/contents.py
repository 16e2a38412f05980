"""What is inside of the distribution files: all that is needed, and nothing else.

``python .ci/contents.py dist/*``
"""

from __future__ import annotations

import sys
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

_WHEEL_SUFFIXES = {".py", ".pyi", ".typed", ".toml", ".j2", ".js", ".css", ".so", ".pyd"}
_WHEEL_NEEDS = (
    "fastrecall/py.typed",
    "fastrecall/defaults.toml",
    "fastrecall/report/templates/page.html.j2",
    "fastrecall/embedding/models.toml",
)
_LICENCES = ("licenses/LICENSE", "licenses/licenses/pybind11.txt")
_SDIST_NEEDS = (
    *("pyproject.toml", "CMakeLists.txt", "README.md", "LICENSE", "licenses/pybind11.txt"),
    *("cpp/bindings/module.cpp", "python/fastrecall/__init__.py"),
)
_SDIST_FOLDERS = {"cpp", "docs", "licenses", "python"}
_SDIST_FILES = {
    "pyproject.toml",
    "CMakeLists.txt",
    "README.md",
    "LICENSE",
    "PKG-INFO",
    ".gitignore",
}


def wheel_problems(names: Iterable[str]) -> list[str]:
    """What is wrong with the files of a wheel, or with those that it installed."""
    names = sorted(names)
    inside = [name for name in names if name.startswith("fastrecall/")]
    about = [name for name in names if PurePosixPath(name).parts[0].endswith(".dist-info")]
    problems = [f"{name} is missing" for name in _WHEEL_NEEDS if name not in inside]
    if not any(
        name.startswith("fastrecall/_core.") and "/_core.pyi" not in name for name in inside
    ):
        problems.append("the compiled module is missing")
    problems += [
        f"the licence file {licence} is missing"
        for licence in _LICENCES
        if not any(name.endswith(licence) for name in about)
    ]
    problems += [
        f"{name} does not belong there"
        for name in names
        if name not in about
        and (name not in inside or PurePosixPath(name).suffix not in _WHEEL_SUFFIXES)
    ]
    return problems


def sdist_problems(names: Iterable[str]) -> list[str]:
    """What is wrong with the files of a source distribution, named below its folder."""
    names = sorted(names)
    problems = [f"{name} is missing" for name in _SDIST_NEEDS if name not in names]
    for name in names:
        first, *rest = PurePosixPath(name).parts
        compiled = PurePosixPath(name).suffix in {".so", ".pyd", ".pyc"}
        if compiled or (first not in _SDIST_FOLDERS if rest else name not in _SDIST_FILES):
            problems.append(f"{name} does not belong there")
    return problems


def main(paths: list[str]) -> int:
    """Print what is wrong with each file; 1 when something is."""
    problems = 0
    for path in map(Path, paths):
        if path.suffix == ".whl":
            found = wheel_problems(zipfile.ZipFile(path).namelist())
        else:
            with tarfile.open(path) as file:
                names = [member.name.partition("/")[2] for member in file if member.isfile()]
            found = sdist_problems(names)
        print(f"{path.name}: {'; '.join(found) or 'as it should be'}")
        problems += len(found)
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
