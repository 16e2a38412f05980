"""An approximate index from blocks of vectors."""

from __future__ import annotations

import numpy as np
import pytest

from fastrecall import HNSW
from fastrecall.errors import InputError
from fastrecall.search.blocks import ArraySource, add_vectors


@pytest.mark.parametrize("memory", [1, 24 * 4 * 2048, "1GB"])
@pytest.mark.parametrize("threads", [1, 2])
def test_blocks_make_the_graph_of_one_addition(tmp_path, memory, threads):
    vectors = np.random.default_rng(1).standard_normal((5000, 24)).astype(np.float32)
    whole, blocked = HNSW(24, threads=threads), HNSW(24, threads=threads)
    whole.add(vectors)
    add_vectors(blocked, ArraySource(vectors), memory=memory)
    whole.save(tmp_path / "whole")
    blocked.save(tmp_path / "blocked")
    assert (tmp_path / "blocked").read_bytes() == (tmp_path / "whole").read_bytes()


def test_an_index_of_other_dimensions_is_refused():
    with pytest.raises(InputError, match="3 columns"):
        add_vectors(HNSW(4), ArraySource(np.eye(3)), memory="1MB")


def test_a_row_that_is_not_finite_is_named_by_its_number():
    vectors = np.ones((3000, 4), np.float32)
    vectors[2500, 1] = np.nan
    index = HNSW(4)
    with pytest.raises(InputError, match="vectors: row 2500, column 1 is nan"):
        add_vectors(index, ArraySource(vectors), memory=1)
    assert len(index) == 2048
