"""The C++ benchmark programs, compiled when they are needed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from harness import BUILD, ROOT


class MissingToolError(Exception):
    """Something that compiling needs is not installed."""


def tool(name: str) -> str:
    """A program from beside this Python, or from PATH.

    Raises:
        MissingToolError: it is in neither place.
    """
    found = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    if found is None:
        raise MissingToolError(f"{name} is not installed")
    return found


def build(program: str, folder: Path = BUILD / "cmake") -> Path:
    """Compile one of the programs, and return where it is.

    Raises:
        MissingToolError: cmake, ninja or a compiler is missing.
        RuntimeError: it does not compile; the message holds the compiler's.
    """
    if not any(shutil.which(name) for name in ("c++", "g++", "clang++")):
        raise MissingToolError("no C++ compiler is installed")
    configure = [tool("cmake"), "-S", ROOT, "-B", folder, "-G", "Ninja"]
    configure += [f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}", "-DCMAKE_BUILD_TYPE=Release"]
    configure += ["-DFASTRECALL_PYTHON=OFF", "-DFASTRECALL_BENCH=ON"]
    for command in (configure, [tool("cmake"), "--build", folder, "--target", program, "-j2"]):
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(
                f"{program} does not compile:\n{(done.stdout + done.stderr)[-4000:]}"
            )
    return folder / program
