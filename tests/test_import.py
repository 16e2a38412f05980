"""Importing costs next to nothing, and heavy packages wait until they are needed."""

from __future__ import annotations

import json
import subprocess
import sys

HEAVY = ("pyarrow", "onnxruntime", "tokenizers", "huggingface_hub", "httpx", "rich", "jinja2")


def run_python(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout


def loaded_after(code: str) -> set[str]:
    out = run_python(f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))")
    return {name.split(".")[0] for name in json.loads(out.splitlines()[-1])}


def best_seconds(code: str, runs: int = 5) -> float:
    timed = f"import time; t = time.perf_counter()\n{code}\nprint(time.perf_counter() - t)"
    return min(float(run_python(timed)) for _ in range(runs))


def test_importing_the_package_loads_nothing_heavier_than_numpy() -> None:
    assert loaded_after("import fastrecall").isdisjoint(HEAVY)


def test_importing_the_package_takes_less_than_a_tenth_of_a_second() -> None:
    # What fastrecall adds to numpy; numpy's own time is the machine's affair.
    assert best_seconds("import fastrecall") < 0.1


def test_help_loads_nothing_heavy() -> None:
    code = (
        "from fastrecall.cli.app import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass"
    )
    assert loaded_after(code).isdisjoint({*HEAVY, "numpy"})


def test_every_public_name_loads() -> None:
    import fastrecall

    for name in fastrecall.__all__:
        assert callable(getattr(fastrecall, name)), name
    assert set(fastrecall.__all__) <= set(dir(fastrecall))
