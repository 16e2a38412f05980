"""Mutations that keep a format whole, so that what lies behind the parser is reached."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

Mutate = Callable[[bytes, int], bytes]

ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 7, 2**31 - 1, 2**31, 2**53 + 1, 10**30, -(10**30)),
    *(0.5, -0.0, 1e308, "", " ", "x", "7", "\ud800", "\0", "é", "\u202e", "#7", "a/b", "../../x"),
    *("2024-05-31T12:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2024-13-01"),
    *([], {}, [None], [[]], [{}], {"": None}, {"nodes": None}, {"nodes": [None]}, [1, "1"]),
    *({"login": None}, {"login": "x[bot]"}, {"name": 5}, {"number": 5}),
)


def json_text(data: bytes, seed: int, mutate_bytes: Mutate, max_size: int) -> bytes:
    """JSON with one or more of its values changed; other text, and now and then JSON as well,
    with some of its bytes changed."""
    dice = random.Random(seed)
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return mutate_bytes(data, max_size)
    if dice.random() < 0.15:
        return mutate_bytes(data, max_size)
    for _ in range(dice.choice((1, 1, 1, 2, 4))):
        document = _changed(document, dice)
    return json.dumps(document).encode()[:max_size]


def json_lines(data: bytes, seed: int, mutate_bytes: Mutate, max_size: int) -> bytes:
    """Lines of JSON: one of them changed, doubled, dropped or moved."""
    dice = random.Random(seed)
    lines = data.split(b"\n")
    at = dice.randrange(len(lines))
    kind = dice.random()
    if kind < 0.8:
        lines[at] = json_text(lines[at], seed, mutate_bytes, max_size)
    elif kind < 0.9:
        lines.insert(dice.randrange(len(lines) + 1), lines[at])
    else:
        del lines[at]
    return b"\n".join(lines)[:max_size]


def _changed(document: Any, dice: random.Random) -> Any:
    """The document with one value changed, somewhere."""
    if isinstance(document, (dict, list)) and document and dice.random() < 0.85:
        keys = list(document) if isinstance(document, dict) else range(len(document))
        key = dice.choice(keys)
        kind = dice.random()
        if kind < 0.75:
            document[key] = _changed(document[key], dice)
        elif kind < 0.85:
            del document[key]
        elif isinstance(document, list):
            document.append(document[key])
        else:
            document[dice.choice((*document, "x", "number", "nodes"))] = document[key]
        return document
    if isinstance(document, str) and dice.random() < 0.3:
        at = dice.randrange(len(document) + 1)
        return document[:at] + str(dice.choice(ODD_VALUES)) + document[at + dice.randrange(3) :]
    if type(document) is int and dice.random() < 0.3:
        return document + dice.choice((-1, 1, -document, 2**31, document))
    # A copy: what stands in the document twice must not change twice.
    return json.loads(json.dumps(dice.choice(ODD_VALUES)))
