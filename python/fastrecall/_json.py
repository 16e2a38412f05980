"""JSON that others have written, or that was damaged since we wrote it."""

from __future__ import annotations

import collections.abc
import contextlib
import json
import sys
import types
from collections.abc import Hashable
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

_Class = TypeVar("_Class")


def loads(text: str | bytes | bytearray) -> Any:
    """What `json.loads` reads, with one kind of error for all that it cannot.

    Raises:
        ValueError: not JSON, not UTF-8, nested too deeply, or a number with thousands of digits.

    >>> loads("[" * 100_000)
    Traceback (most recent call last):
    ValueError: nested too deeply
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def as_instance(kind: type[_Class], value: object) -> _Class:
    """A dataclass of an object whose keys and types are those of its fields.

    Lists become tuples where the field says so; a number may be whole where a float is wanted.

    Raises:
        ValueError: names the key that is missing, unknown or of another type.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Point:
    ...     x: int
    ...     names: tuple[str, ...] = ()
    >>> as_instance(Point, {"x": 1, "names": ["a"]})
    Point(x=1, names=('a',))
    >>> as_instance(Point, {"x": "1"})
    Traceback (most recent call last):
    ValueError: x is '1'; expected a whole number
    """
    if not isinstance(value, dict):
        raise ValueError("not an object")
    hints, needed = _fields_of(cast("Hashable", kind))
    for name in value:
        if name not in hints:
            raise ValueError(f"unknown key {name!r}; known: {', '.join(sorted(hints))}")
    for name in needed:
        if name not in value:
            raise ValueError(f"{name} is missing")
    return kind(**{name: _field(name, given, hints[name]) for name, given in value.items()})


def _field(name: str, value: Any, hint: Any) -> Any:
    try:
        return _converted(value, hint)
    except TypeError:
        came = f"an object of {len(value)}" if isinstance(value, dict) else ascii(value)[:40]
        raise ValueError(f"{name} is {came}; expected {_described(hint)}") from None


@cache
def _fields_of(kind: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The types of a dataclass' fields, and which have no default."""
    needed = (
        field.name
        for field in fields(kind)
        if field.default is MISSING and field.default_factory is MISSING
    )
    return get_type_hints(kind), tuple(needed)


def _converted(value: Any, hint: Any) -> Any:
    """*value* as the type that *hint* says; raises TypeError for what does not fit."""
    origin, inside = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        for choice in inside:
            with contextlib.suppress(TypeError):
                return _converted(value, choice)
    elif origin is tuple and isinstance(value, list):
        hints = (inside[0],) * len(value) if inside[-1] is ... else inside
        if len(hints) == len(value):
            return tuple(map(_converted, value, hints))
    elif isinstance(hint, type) and hasattr(hint, "_fields") and isinstance(value, list):
        hints = tuple(get_type_hints(hint).values())  # of a named tuple
        if len(hints) == len(value):
            return hint(*map(_converted, value, hints))
    elif origin is list and isinstance(value, list):
        return [_converted(one, inside[0]) for one in value]
    elif origin in (dict, collections.abc.Mapping) and isinstance(value, dict):
        return {key: _converted(one, inside[1]) for key, one in value.items()}
    elif is_dataclass(hint) and isinstance(value, dict):
        with contextlib.suppress(ValueError):
            return as_instance(cast("type", hint), value)
    elif origin is Literal:
        if isinstance(value, str) and value in inside:
            return value
    elif hint is float:
        if type(value) in (int, float) and abs(value) <= sys.float_info.max:
            return float(value)
    elif hint is int:
        if type(value) is int:
            return value
    elif hint is Any or (isinstance(hint, type) and isinstance(value, hint)):
        return value
    raise TypeError


def _described(hint: Any) -> str:
    origin, inside = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return " or ".join(map(_described, inside))
    if origin is Literal:
        return f"one of {', '.join(inside)}"
    if origin in (dict, collections.abc.Mapping):
        return "an object" if inside[1] is Any else f"an object of {_described(inside[1])} each"
    if origin is list or (origin is tuple and inside[-1] is ...):
        return "an array" if inside[0] is Any else f"an array of {_described(inside[0])} each"
    if origin is tuple:
        return f"an array of {', '.join(map(_described, inside))}"
    return _NAMES.get(hint, "an object")


_NAMES: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "true or false",
    type(None): "null",
    Any: "anything",
}
