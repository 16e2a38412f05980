"""How a vector is kept on disk: as float32, as float16, or as one signed byte a value."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from fastrecall.errors import InputError
from fastrecall.types import Vectors

Storage: TypeAlias = Literal["float32", "float16", "int8"]
"""``float32`` keeps every bit. ``float16`` rounds to 11 significant bits, and refuses what half
precision cannot hold. ``int8`` keeps a code a value and one float32 ``scale`` a row."""

Scales: TypeAlias = npt.NDArray[np.float32]
"""One factor a row, of ``int8`` storage."""

_LARGEST_CODE = 127
_LARGEST_HALF = 65504.0
_LARGEST_SCALE = np.nextafter(np.float32(np.finfo(np.float32).max / _LARGEST_CODE), np.float32(0))


def checked_storage(storage: str) -> Storage:
    """The same word, if it names a storage.

    Raises:
        InputError: it does not.

    >>> checked_storage("int8")
    'int8'
    """
    for known in get_args(Storage):
        if storage == known:
            return storage  # type: ignore[return-value]  # mypy does not narrow by a loop
    raise InputError(f"storage is {storage!r}; expected one of {', '.join(get_args(Storage))}")


def bytes_per_row(storage: Storage, dim: int) -> int:
    """Bytes that a vector takes, without the frame of its file.

    >>> [bytes_per_row(storage, 384) for storage in ("float32", "float16", "int8")]
    [1536, 768, 388]
    """
    return dim * np.dtype(storage).itemsize + (4 if storage == "int8" else 0)


def encode(
    vectors: Vectors, storage: Storage, *, first: int = 0
) -> tuple[npt.NDArray[Any], Scales | None]:
    """Values to keep ``[n, dim]``, and for ``int8`` a scale a row ``[n]``.

    An ``int8`` scale is the row's largest magnitude / 127, and a value is ``code * scale``. What
    comes back differs by at most half a scale, and by the rounding of float32: less than
    ``largest / 253``. A row of zeros has scale 0. *first* is the number of the first row.

    Raises:
        InputError: a value that ``float16`` cannot hold; the row is named.

    >>> import numpy as np
    >>> encode(np.array([[127.0, -63.6]], dtype=np.float32), "int8")
    (array([[127, -64]], dtype=int8), array([1.], dtype=float32))
    """
    if storage == "float32":
        return vectors, None
    if storage == "float16":
        if vectors.size and max(vectors.max(), -vectors.min()) > _LARGEST_HALF:
            row = first + int(np.argmax((np.abs(vectors) > _LARGEST_HALF).any(axis=1)))
            raise InputError(
                f"row {row} holds a value beyond 65504, the largest that float16 holds; choose "
                "float32 or int8, or divide the vectors by their length"
            )
        return vectors.astype(np.float16), None
    largest = np.maximum(vectors.max(axis=1), -vectors.min(axis=1))
    # The cap keeps 127 * scale, which the nearest float32 may exceed, from becoming infinite.
    scales = np.minimum(largest / np.float32(_LARGEST_CODE), _LARGEST_SCALE)
    divisors = np.where(scales > 0, scales, np.float32(1))
    codes = np.rint(vectors / divisors[:, None])
    # Scales near the smallest float32 are coarse: there the quotient may lie beyond the codes.
    np.clip(codes, -_LARGEST_CODE, _LARGEST_CODE, out=codes)
    return codes.astype(np.int8), scales


def decode(values: npt.NDArray[Any], scales: Scales | None = None) -> Vectors:
    """The float32 vectors that were kept; float32 comes back as it is, not copied.

    >>> import numpy as np
    >>> decode(np.array([[127, -64]], dtype=np.int8), np.array([0.5], dtype=np.float32))
    array([[ 63.5, -32. ]], dtype=float32)
    """
    vectors: Vectors = np.ascontiguousarray(values, dtype=np.float32)
    if scales is not None:
        vectors *= scales[:, None]
    return vectors


def first_not_finite(vectors: Vectors) -> int | None:
    """The first row with NaN or infinity, or ``None``.

    >>> import numpy as np
    >>> first_not_finite(np.array([[1, 2], [np.nan, 0]], dtype=np.float32))
    1
    """
    # A sum is finite only if every value is. One that overflowed proves nothing: look again.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(vectors.sum()):
            return None
    rows = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    return int(rows[0]) if len(rows) else None
