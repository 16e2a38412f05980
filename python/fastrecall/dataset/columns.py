"""Columns of lists, in Arrow and Parquet files, as arrays of vectors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fastrecall.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

NUMBERS = ("float32", "float16", "float64", "int8")
NUMBERS_IN_WORDS = "float32, float16, float64 or int8"


def list_size(schema: pa.Schema, path: Path, column: str) -> int | None:
    """The dimension that a column's type tells, after making sure that it can hold vectors."""
    import pyarrow as pa

    places = schema.get_all_field_indices(column)
    if len(places) != 1:
        there = ", ".join(map(repr, schema.names)) or "none"
        raise InputError(
            f"{path} has {len(places) or 'no'} column {column!r}; its columns are {there}: name "
            "the one with the vectors (column=...)"
        )
    kind = schema.field(places[0]).type
    lists = pa.types.is_fixed_size_list, pa.types.is_list, pa.types.is_large_list
    numbers = pa.types.is_floating, pa.types.is_int8
    if not any(test(kind) for test in lists) or not any(test(kind.value_type) for test in numbers):
        raise InputError(
            f"{path}, column {column!r} is of type {kind}; expected a list or fixed-size list of "
            f"{NUMBERS_IN_WORDS}"
        )
    return int(kind.list_size) if pa.types.is_fixed_size_list(kind) else None


def matrix(column: pa.Array, path: Path, name: str, first: int) -> npt.NDArray[Any]:
    """A list column as an array ``[n, dim]``; *first* is the row of the file that it begins at."""
    import pyarrow as pa

    column.validate(full=True)  # Arrow trusts a damaged file, to the point of crashing
    where = f"{path}, column {name!r}, row"
    if column.null_count:
        row = first + column.is_null().index(True).as_py()
        raise InputError(f"{where} {row}: no vector (null); every row needs one")
    values = column.flatten()
    if pa.types.is_fixed_size_list(column.type):
        dim = int(column.type.list_size)
    else:
        lengths = np.diff(column.offsets.to_numpy())
        dim = int(lengths[0]) if len(lengths) else 0
        other = np.flatnonzero(lengths != dim)
        if len(other):
            raise InputError(
                f"{where} {first + other[0]}: a vector of {lengths[other[0]]} numbers; the vectors "
                f"before it have {dim}"
            )
    if values.null_count:
        row = first + values.is_null().index(True).as_py() // dim
        raise InputError(f"{where} {row}: a number is missing (null)")
    array: npt.NDArray[Any] = values.to_numpy(zero_copy_only=True).reshape(len(column), dim)
    return array
