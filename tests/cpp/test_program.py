"""The C++ test program: under sanitizers, and for 64-bit Arm in an emulator; the Python module
under the thread sanitizer; the code's format."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def tool(name: str) -> str:
    """A program from beside this Python, or from PATH; skips the test when there is none."""
    found = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def run(*command: str | Path, environment: dict[str, str] | None = None) -> str:
    result = subprocess.run(
        command,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout[-8000:]
    return result.stdout


def build(folder: Path, *options: str) -> Path:
    run(
        tool("cmake"),
        *("-S", ROOT, "-B", folder, "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}"),
        *("-DFASTRECALL_PYTHON=OFF", "-DFASTRECALL_TESTS=ON", "-DFASTRECALL_WERROR=ON"),
        *options,
    )
    run(tool("cmake"), "--build", folder, "-j2")
    return folder / "fastrecall_tests"


@pytest.mark.slow
@pytest.mark.parametrize("sanitizers", ["address,undefined", "thread"])
def test_clean_under_sanitizers(sanitizers, tmp_path):
    if shutil.which("g++") is None and shutil.which("clang++") is None:
        pytest.skip("no C++ compiler")
    program = build(
        tmp_path,
        f"-DFASTRECALL_SANITIZE={sanitizers}",
        "-DCMAKE_CXX_FLAGS_RELEASE=-O1",
        "-DFASTRECALL_FUZZ=ON",
    )
    assert " 0 failed" in run(program)
    for seeds in (
        ROOT / "tests" / "fuzz" / "seeds" / name for name in ("graph", "hnsw", "postings")
    ):
        run(tmp_path / f"fastrecall_fuzz_{seeds.name}", *sorted(seeds.iterdir()))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the sanitizer is loaded as on Linux")
def test_the_python_module_is_clean_under_the_thread_sanitizer(tmp_path):
    pytest.importorskip("pybind11")
    library = Path(run(tool("g++"), "-print-file-name=libtsan.so").strip())
    if not library.is_absolute():
        pytest.skip("g++ has no thread sanitizer")
    program = build(
        tmp_path / "build",
        *("-DFASTRECALL_PYTHON=ON", "-DFASTRECALL_TESTS=OFF", "-DFASTRECALL_SANITIZE=thread"),
        *("-DCMAKE_CXX_FLAGS_RELEASE=-O1", "-DCMAKE_CXX_COMPILER=g++"),
        f"-DPython_EXECUTABLE={sys.executable}",
    )
    package = tmp_path / "package" / "fastrecall"
    shutil.copytree(
        ROOT / "python" / "fastrecall", package, ignore=shutil.ignore_patterns("_core.*.so")
    )
    (module,) = program.parent.glob("_core.*.so")
    shutil.copy(module, package)
    environment = {
        "LD_PRELOAD": str(library),
        "TSAN_OPTIONS": "exitcode=66",
        "PYTHONPATH": os.pathsep.join([str(package.parent), str(ROOT)]),
        "OPENBLAS_NUM_THREADS": "1",  # its threads are not instrumented
    }
    where = "from fastrecall import _core; print(_core.__file__)"
    assert str(package) in run(sys.executable, "-c", where, environment=environment)
    tests = run(
        *(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", ROOT),
        ROOT / "tests" / "core" / "test_threads.py",
        environment=environment,
    )
    assert " passed" in tests


@pytest.mark.slow
def test_runs_on_64_bit_arm(tmp_path):
    compiler, emulator = tool("aarch64-linux-gnu-g++"), tool("qemu-aarch64")
    program = build(
        tmp_path,
        *("-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=aarch64"),
        *(f"-DCMAKE_CXX_COMPILER={compiler}", "-DCMAKE_CXX_FLAGS_RELEASE=-O2"),
        "-DCMAKE_EXE_LINKER_FLAGS=-static",
    )
    assert " 0 failed" in run(emulator, program)


def test_format_of_the_code():
    folders = [ROOT / "cpp", ROOT / "tests" / "cpp", ROOT / "bench"]
    files = [
        path
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if path.suffix in {".cpp", ".hpp", ".inl"}
    ]
    assert files
    run(tool("clang-format"), "--dry-run", "--Werror", *files)
