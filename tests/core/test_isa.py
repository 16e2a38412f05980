"""Every instruction set that this CPU runs gives the same bits; wrong names are refused."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest
from tests.children import environment

from fastrecall import ExactIndex, _core

PROBE = """
from fastrecall import _core
from tests.core.test_isa import digest
print(_core.isa(), digest())
"""


def digest() -> str:
    """Hash of searches and graphs over shapes around the widths of vectors and tiles."""
    state = hashlib.sha256()
    random = np.random.default_rng(11)
    for storage in ("int8", "float16", "float32"):
        for n, dim, count, k in (
            (0, 3, 2, 2),
            (70, 1, 5, 9),
            (333, 17, 13, 5),
            (1000, 65, 70, 10),
            (3000, 384, 90, 32),
        ):
            vectors = random.standard_normal((n, dim)).astype(np.float32)
            vectors[::7] = vectors[: len(vectors[::7])]
            queries = random.standard_normal((count, dim)).astype(np.float32)
            for threads in (1, 2, 7):
                index = ExactIndex(vectors, storage=storage, threads=threads)
                results = [index.search(queries, k), index.search(queries[:1], k)]
                if n <= 1000:
                    results.append(index.knn_graph(k))
                for ids, scores in results:
                    state.update(ids.tobytes())
                    state.update(scores.tobytes())
    return state.hexdigest()


def run(isa: str, code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        env=environment(FASTRECALL_ISA=isa),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def expected() -> str:
    return digest()


@pytest.mark.parametrize("isa", _core.available_isas())
def test_forced_instruction_set_gives_the_same_bits(isa, expected):
    result = run(isa, PROBE)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == [isa, expected]


@pytest.mark.parametrize(
    ("isa", "reason"),
    [("sse9", "is not an instruction set of this build")]
    + [
        (isa, "this CPU cannot run")
        for isa in _core.compiled_isas()
        if isa not in _core.available_isas()
    ],
)
def test_wrong_name_is_refused_with_the_valid_ones(isa, reason):
    result = run(isa, "from fastrecall import _core; _core.isa()")
    assert result.returncode != 0
    message = result.stderr.strip().splitlines()[-1]
    assert message.startswith("fastrecall.errors.InputError: FASTRECALL_ISA is")
    assert reason in message
    for name in _core.available_isas():
        assert name in message


def test_the_best_instruction_set_is_the_default():
    if not os.environ.get("FASTRECALL_ISA"):
        assert _core.isa() == _core.available_isas()[0]
    assert _core.available_isas()[-1] == "scalar"
    assert set(_core.available_isas()) <= set(_core.compiled_isas())
