"""Inverted lists that no text has: refused when they are given, whoever gives them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fastrecall import _core
from fastrecall.errors import InputError

GIVEN: dict[str, Any] = {
    "offsets": np.array([0, 2, 3], np.int64),
    "nodes": np.array([0, 1, 1], np.int32),
    "counts": np.ones(3, np.float32),
    "lengths": np.array([[1, 2]], np.int64),
    "weights": np.ones(1),
}


def postings(**changed: Any) -> Any:
    return _core.Postings(*(GIVEN | changed).values(), k1=1.2, b=0.75)


def test_what_fits_is_taken() -> None:
    assert (postings().nodes, postings().terms) == (2, 2)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("nodes", [1, 0, 1], "nodes of term 0 are not ascending"),
        ("nodes", [1, 1, 1], "nodes of term 0 are not ascending"),
        ("nodes", [0, 2, 1], "nodes holds 2"),
        ("offsets", [0, 4, 3], "offsets do not fit"),
        ("counts", [1, np.nan, 1], "counts holds nan"),
        ("counts", [1, 0, 1], "counts holds 0"),
        ("counts", [1, np.inf, 1], "counts holds inf"),
        ("weights", [-1.0], "weights holds -1"),
        ("weights", [np.nan], "weights holds nan"),
        ("lengths", [[1, -2]], "lengths holds -2"),
        ("lengths", [[2**62, 2**62]], "lengths holds 4611686018427387904"),
    ],
)
def test_what_does_not_fit_is_refused(name: str, value: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        postings(**{name: np.array(value, GIVEN[name].dtype)})
