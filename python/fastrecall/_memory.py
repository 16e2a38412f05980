"""Amounts of memory, as people write them."""

from __future__ import annotations

import re

from fastrecall.errors import InputError

_UNITS = {"": 1, "B": 1} | {
    f"{letter}{suffix}": base**power
    for power, letter in enumerate("KMGT", start=1)
    for suffix, base in (("", 1000), ("B", 1000), ("IB", 1024))
}


def parse_bytes(text: str | int) -> int:
    """Bytes of ``4GB``, ``500 MiB`` or a plain number; ``GB`` is 10⁹, ``GiB`` is 2³⁰.

    Raises:
        InputError: no such amount, or none at all.

    >>> parse_bytes("4GB"), parse_bytes("1.5 GiB"), parse_bytes(1000)
    (4000000000, 1610612736, 1000)
    """
    match = re.fullmatch(r"\s*(\d{1,18}(?:\.\d{1,18})?)\s*([A-Za-z]*)\s*", str(text))
    unit = _UNITS.get(match[2].upper()) if match else None
    amount = float(match[1]) * unit if match and unit else 0.0
    if not 1 <= amount < 1 << 63:
        raise InputError(f"memory is {text!r}; expected an amount such as 4GB or 500MiB")
    return int(amount)
