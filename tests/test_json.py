"""JSON of others: one kind of error, and the types that were promised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from fastrecall._json import as_instance, loads


@dataclass(frozen=True)
class Inner:
    name: str


@dataclass(frozen=True)
class Whole:
    number: int
    share: float = 0.5
    word: Literal["a", "b"] | None = None
    names: tuple[str, ...] = ()
    pair: tuple[str, int] = ("", 0)
    table: Mapping[str, Any] = field(default_factory=dict)
    inner: tuple[Inner, ...] = ()
    rows: list[dict[str, Any]] = field(default_factory=list)


def test_everything_that_fits_arrives_in_the_types_of_the_fields() -> None:
    given = {
        "number": 1,
        "share": 2,
        "word": "b",
        "names": ["x"],
        "pair": ["x", 3],
        "table": {"k": None},
        "inner": [{"name": "n"}],
        "rows": [{"a": 1}],
    }
    expected = Whole(1, 2.0, "b", ("x",), ("x", 3), {"k": None}, (Inner("n"),), [{"a": 1}])
    assert as_instance(Whole, given) == expected
    assert isinstance(as_instance(Whole, given).share, float)
    assert as_instance(Whole, {"number": 1}) == Whole(1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "not an object"),
        ({}, "number is missing"),
        ({"number": 1, "x": 2}, "unknown key 'x'; known: inner, names, number"),
        ({"number": "1"}, "number is '1'; expected a whole number"),
        ({"number": True}, "number is True; expected a whole number"),
        ({"number": 1.0}, "number is 1.0; expected a whole number"),
        ({"number": 1, "share": "x"}, "share is 'x'; expected a number"),
        ({"number": 1, "share": float("nan")}, "share is nan; expected a number"),
        ({"number": 1, "share": 10**400}, "share is 1000"),
        ({"number": 1, "word": "c"}, "word is 'c'; expected one of a, b or null"),
        ({"number": 1, "word": ["a"]}, "expected one of a, b or null"),
        ({"number": 1, "names": "x"}, "expected an array of a text each"),
        ({"number": 1, "names": [1]}, "expected an array of a text each"),
        ({"number": 1, "pair": ["x"]}, "expected an array of a text, a whole number"),
        ({"number": 1, "table": []}, "expected an object"),
        ({"number": 1, "inner": [{"name": 5}]}, "expected an array of an object each"),
        ({"number": 1, "rows": {"a": 1}}, "rows is an object of 1; expected an array"),
    ],
)
def test_what_does_not_fit_is_named(given: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        as_instance(Whole, given)


@pytest.mark.parametrize("text", ["[" * 100_000, "{", b"\xff", "1" * 5000, '{"a":' * 100_000])
def test_whatever_is_no_json_is_one_kind_of_error(text: str | bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the messages are Python's
        loads(text)
