"""Format, lint and types, as the tools see them; a tool that is not installed is skipped aloud."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PYTHON_FOLDERS = ("python", "tests", "bench")
checks_types = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="NumPy for Python 3.10 describes its types in another way"
)
CPP_FILES = sorted(p for p in (ROOT / "cpp").rglob("*") if p.suffix in (".cpp", ".hpp"))


def check(*command: object) -> None:
    done = subprocess.run([str(part) for part in command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def python_tool(module: str) -> tuple[str, str, str]:
    pytest.importorskip(module.partition(".")[0])
    return sys.executable, "-m", module


def test_python_is_formatted() -> None:
    check(*python_tool("ruff"), "format", "--check", *PYTHON_FOLDERS)


def test_python_is_linted() -> None:
    check(*python_tool("ruff"), "check", *PYTHON_FOLDERS)


@checks_types
def test_package_is_strictly_typed() -> None:
    check(*python_tool("mypy"))


@checks_types
def test_stub_of_the_engine_tells_the_truth() -> None:
    check(
        *python_tool("mypy.stubtest"),
        "fastrecall._core",
        "--mypy-config-file=pyproject.toml",
        "--allowlist=tests/stubtest.allowlist",
        "--ignore-unused-allowlist",
    )


def test_cpp_is_formatted() -> None:
    assert CPP_FILES
    clang_format = pytest.importorskip("clang_format")
    check(clang_format.get_executable("clang-format"), "--dry-run", "-Werror", *CPP_FILES)
