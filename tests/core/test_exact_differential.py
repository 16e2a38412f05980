"""Exactness of screened search: many random and adversarial cases against float64 NumPy."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import numpy.typing as npt
import pytest
from tests.oracles import topk as oracle

from fastrecall import ExactIndex, _core

Floats = npt.NDArray[np.float32]


def vectors_of(kind: str, n: int, dim: int, random: np.random.Generator) -> Floats:
    """Data that bounds find easy or hard."""
    noise = random.standard_normal((n, dim))
    centres = random.standard_normal((3, dim))
    made = {
        "normal": lambda: noise,
        "equal": lambda: np.broadcast_to(centres[0], (n, dim)),
        "tight clusters": lambda: centres[random.integers(0, 3, n)] + 1e-6 * noise,
        "clusters": lambda: centres[random.integers(0, 3, n)] + 0.1 * noise,
        "few values": lambda: random.integers(-1, 2, (n, dim)),
        "spikes": lambda: 1e-3 * noise + np.eye(dim)[random.integers(0, dim, n)],
        "decaying": lambda: noise * 0.9 ** np.arange(dim),
        "opposite": lambda: centres[0] * random.choice([-1, 1], (n, 1)),
        "sparse": lambda: noise * (random.random((n, dim)) < 0.1),
        "scales": lambda: noise * 10.0 ** random.integers(-18, 18, (n, 1)),
    }[kind]()
    return np.asarray(made, dtype=np.float32)


KINDS = [
    *("normal", "equal", "tight clusters", "clusters", "few values"),
    *("spikes", "decaying", "opposite", "sparse", "scales"),
]


def check_cases(rounds: int, seed: int) -> int:
    """Compare searches, query by query; the number of queries compared."""
    random = np.random.default_rng(seed)
    compared = 0
    for _ in range(rounds):
        for kind in KINDS:
            n, dim = int(random.integers(1, 900)), int(random.choice([1, 3, 16, 40, 100, 384]))
            count, k = int(random.choice([1, 7, 30, 80])), int(random.choice([1, 5, 32, 100]))
            data = vectors_of(kind, n + count, dim, random)
            vectors, queries = data[:n], data[n:]
            rows, units = oracle.stored(vectors, "int8"), oracle.unit(queries)
            expected = [oracle.top(oracle.scores(rows, unit), k) for unit in units]
            for threads in (1, 2, 7):
                ids, scores = ExactIndex(vectors, threads=threads).search(queries, k)
                for q in range(count):
                    case = f"{kind} n={n} dim={dim} q={q} of {count} k={k} threads={threads}"
                    np.testing.assert_array_equal(ids[q], expected[q][0], err_msg=case)
                    np.testing.assert_array_equal(scores[q], expected[q][1], err_msg=case)
            # The truth is that of a plain float64 product, up to its rounding.
            plain = rows.astype(np.float64) @ units[0].astype(np.float64)
            assert np.abs(oracle.scores(rows, units[0]) - plain).max() < 1e-6
            compared += count
    return compared


def test_a_few_cases():
    assert check_cases(rounds=2, seed=1) > 100


@pytest.mark.slow
@pytest.mark.parametrize("isa", _core.available_isas())
def test_ten_thousand_cases_on_each_instruction_set(isa):
    code = (
        "from tests.core.test_exact_differential import check_cases\n"
        "from fastrecall import _core\n"
        "print(_core.isa(), check_cases(rounds=36, seed=2))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "FASTRECALL_ISA": isa, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    used, compared = result.stdout.split()
    assert used == isa
    assert int(compared) >= 10_000
