"""What the bootstrap and the permutation test share: checked values, added up by cluster."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fastrecall.errors import InputError

Floats = npt.NDArray[np.float64]


def finite_values(values: npt.ArrayLike, name: str) -> Floats:
    """*values* as a vector of finite numbers.

    Raises:
        InputError: more than one dimension, or a nan or infinity.
    """
    vector = np.asarray(values, dtype=np.float64)
    if vector.ndim != 1:
        raise InputError(f"{name} has the shape {vector.shape}; expected one dimension")
    finite = np.isfinite(vector)
    if not finite.all():
        at = int(np.argmin(finite))
        raise InputError(f"{name}[{at}] is {vector[at]}; expected finite numbers only")
    return vector


def paired_differences(first: npt.ArrayLike, second: npt.ArrayLike) -> Floats:
    """``first - second`` of two arms that answered the same queries.

    Raises:
        InputError: different lengths, or values that are not finite.
    """
    a, b = finite_values(first, "first"), finite_values(second, "second")
    if len(a) != len(b):
        raise InputError(
            f"the first arm has {len(a)} values and the second {len(b)}; "
            "expected one value a query from both"
        )
    return a - b


def cluster_sums(values: Floats, clusters: npt.ArrayLike | None) -> tuple[Floats, Floats]:
    """Sum and number of the values in each cluster; without clusters each value is one.

    Raises:
        InputError: *clusters* does not have one label a value.
    """
    members = cluster_members(clusters, len(values))
    return member_sums(values, members), member_sums(np.ones_like(values), members)


def cluster_members(clusters: npt.ArrayLike | None, values: int) -> npt.NDArray[np.integer] | None:
    """The number of each value's cluster, from 0; None where each value is one.

    Raises:
        InputError: *clusters* does not have one label a value.
    """
    if clusters is None:
        return None
    labels = np.asarray(clusters)
    if labels.shape != (values,):
        raise InputError(
            f"clusters has the shape {labels.shape} and the values {(values,)}; "
            "expected one cluster label a value"
        )
    return np.unique(labels, return_inverse=True)[1]


def member_sums(values: Floats, members: npt.NDArray[np.integer] | None) -> Floats:
    """The sum of the values in each cluster."""
    if members is None:
        return values
    return np.bincount(members, weights=values).astype(np.float64, copy=False)
