"""Sharing one search among protocols gives what each would have found by itself."""

from __future__ import annotations

import numpy as np
import pytest

from fastrecall.search.existing import Marked
from fastrecall.search.memory import Memory
from fastrecall.search.nearest import Nearest


@pytest.fixture
def memory():
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(60, 8)).astype(np.float32)
    vectors[30:] = vectors[:30]  # every score stands there twice
    return Memory(("",) * 60, vectors, np.arange(60) % 3 == 0, threads=1)


@pytest.mark.parametrize("depth", [1, 10, 60, 80])
@pytest.mark.parametrize("only_prs", [False, True])
def test_taking_a_node_out_equals_searching_without_it(memory, depth, only_prs):
    queries = memory.vectors[:40]
    exclude = np.arange(40, dtype=np.int32)
    exclude[::7] = -1
    nearest = Nearest(memory, queries)
    mask = memory.is_pr if only_prs else None
    for absent in (None, exclude):
        found = nearest.ranked(depth, only_prs=only_prs, exclude=absent)
        ids, scores = memory.exact.search(queries, depth, exclude=absent, mask=mask)
        np.testing.assert_array_equal(found.ids, ids)
        np.testing.assert_array_equal(found.scores, scores)
    assert nearest.spared > 0


def test_only_what_is_allowed_comes(memory):
    queries = memory.vectors[:5]
    allowed = np.random.default_rng(1).random((5, 60)) < 0.4
    found = Nearest(memory, queries).ranked(20, only_prs=True, allowed=Marked(allowed))
    ids, _ = memory.exact.search(queries, 20, mask=allowed & memory.is_pr)
    np.testing.assert_array_equal(found.ids, ids)
