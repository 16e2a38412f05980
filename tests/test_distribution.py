"""What is shipped: no test, no seed, no benchmark, and every licence of what is compiled in."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import tarfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from types import ModuleType

import pytest

from fastrecall._toml import loads

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def contents() -> ModuleType:
    path = ROOT / ".ci" / "contents.py"
    spec = importlib.util.spec_from_file_location("contents", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_installed_files_are_all_there_and_nothing_else(contents: ModuleType) -> None:
    try:
        installed = distribution("fastrecall")
    except PackageNotFoundError:
        pytest.skip("fastrecall is not installed")
    names = [file.as_posix() for file in installed.files or ()]
    if not any(name.startswith("fastrecall/") for name in names):
        pytest.skip("fastrecall is installed in place")
    names = [name for name in names if "__pycache__" not in name and "../" not in name]
    assert contents.wheel_problems(names) == []


def test_source_distribution_holds_what_builds_it_and_no_test_data(
    contents: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = pytest.importorskip("scikit_build_core.build")
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout: what lies about would be packed, too")
    # A clone holds what is committed alone.
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    monkeypatch.chdir(clone)
    name = build.build_sdist(str(tmp_path))
    with tarfile.open(tmp_path / name) as file:
        names = [member.name.partition("/")[2] for member in file if member.isfile()]
    assert contents.sdist_problems(names) == []


def test_a_stray_file_and_a_missing_one_are_told(contents: ModuleType) -> None:
    problems = contents.wheel_problems(["fastrecall/py.typed", "tests/fuzz/seeds/hnsw/empty"])
    assert "tests/fuzz/seeds/hnsw/empty does not belong there" in problems
    assert "the compiled module is missing" in problems
    assert "the licence file licenses/LICENSE is missing" in problems
    assert "tests/conftest.py does not belong there" in contents.sdist_problems(
        ["tests/conftest.py"]
    )


def test_licence_of_what_is_compiled_in_is_that_of_the_installed_version() -> None:
    try:
        installed = distribution("pybind11")
    except PackageNotFoundError:
        pytest.skip("pybind11 is not installed")
    files = [file for file in installed.files or () if file.name == "LICENSE"]
    if not files:
        pytest.skip("this pybind11 brings no licence file")
    shipped = (ROOT / "licenses" / "pybind11.txt").read_text(encoding="utf-8")
    assert files[0].read_text() == shipped


@pytest.mark.parametrize("name", ["ci.lock", "supply.lock"])
def test_lock_pins_by_hash_and_names_no_place(name: str) -> None:
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    assert "://" not in text
    assert "--find-links" not in text
    lines = [line for line in text.splitlines() if line and line[0] not in " #"]
    assert lines
    assert all("==" in line and line.endswith("\\") for line in lines)
    assert text.count("--hash=sha256:") >= len(lines)


def test_lock_holds_all_that_the_tests_need() -> None:
    project = loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"]]
    for extra in ("code", "report", "mcp", "test"):
        wanted += project["optional-dependencies"][extra]
    names = {
        normalised(re.match(r"[\w.-]+", requirement)[0])  # type: ignore[index]
        for requirement in wanted
        if "python_version" not in requirement
    }
    locked = re.findall(
        r"^([\w.-]+)==", (ROOT / "requirements" / "ci.lock").read_text(), re.MULTILINE
    )
    missing = names - set(map(normalised, locked)) - {"fastrecall"}
    assert not missing, f"run requirements/update: {missing}"


def normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
