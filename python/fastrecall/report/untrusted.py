"""Documents whose texts may come from anybody, made harmless to look at."""

from __future__ import annotations

from typing import Any

from fastrecall._visible import visible


def cleaned(value: Any) -> Any:
    """A document of plain values with every text in it made `visible`, names included.

    >>> cleaned({"a\\u200f": ["b\\x00", 1, None]})
    {'a‹U+200F›': ['b‹U+0000›', 1, None]}
    """
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {visible(name): cleaned(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [cleaned(item) for item in value]
    return value
