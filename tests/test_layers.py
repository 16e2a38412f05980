"""Imports point only down, and rooms on one floor do not import each other."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "python" / "fastrecall"

FLOORS = (
    {
        "_checked",
        "_core",
        "_data",
        "types",
        "errors",
        "config",
        "_files",
        "_json",
        "_lazy",
        "_lock",
        "_memory",
        "_on_demand",
        "_ragged",
        "_term",
        "_threads",
        "_toml",
        "_visible",
    },
    {"execution"},
    {"dataset"},
    {"corpus", "embedding", "graph", "measure"},
    {"search"},
    {"report"},
    {"study"},
    {"serve"},
    {"cli"},
    {"__main__"},
)
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}

MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def room_of(path: Path) -> str:
    inside = path.relative_to(PACKAGE)
    return inside.parts[0].removesuffix(".py")


def imported_rooms(source: str) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = (
                [f"fastrecall.{alias.name}" for alias in node.names]
                if node.module == "fastrecall"
                else [node.module]
            )
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        rooms |= {name.split(".")[1] for name in names if name.startswith("fastrecall.")}
    return rooms


def forbidden(room: str, source: str) -> list[str]:
    return sorted(
        other
        for other in imported_rooms(source)
        if other != room
        and FLOOR.get(other, 0) >= FLOOR[room]
        # Ground-floor files are single files that may lean on each other.
        and not (FLOOR[room] == 0 and FLOOR.get(other, 0) == 0)
    )


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path: Path) -> None:
    room = room_of(path)
    assert room in FLOOR, f"{room} stands on no floor: add it to FLOORS"
    assert forbidden(room, path.read_text(encoding="utf-8")) == []


def test_no_relative_imports() -> None:
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            assert not (isinstance(node, ast.ImportFrom) and node.level), path


def test_the_check_itself_finds_a_climbing_import() -> None:
    assert forbidden("corpus", "from fastrecall.search.exact import ExactIndex") == ["search"]
    assert forbidden("corpus", "def f():\n    import fastrecall.embedding") == ["embedding"]
    assert forbidden("search", "from fastrecall import corpus, types") == []
