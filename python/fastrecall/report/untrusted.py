"""Texts that may come from anybody, made harmless to look at.

Escaping is the business of what prints them (HTML, Markdown); here goes what no escaping helps
against: characters that reorder or hide what stands around them, control characters, great length.
"""

from __future__ import annotations

import re
from typing import Any

_HIDDEN = re.compile(
    "[\u0000-\u001f\u007f-\u009f"  # control characters
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # direction marks and overrides
    "\u00ad\u200b\u2028\u2029\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb"  # invisible
    "\ud800-\udfff"  # lone surrogates, which no encoding takes
    "\U000e0000-\U000e007f]"  # tags: letters that nobody sees
)
_BLANKS = re.compile(r"[\t\n\r\f\v]+")

LONGEST = 400
"""Characters of a text that a page shows."""


def visible(text: str, longest: int = LONGEST) -> str:
    """*text* in one line, at most *longest* characters of it, what would hide or reorder spelt out.

    >>> visible("safe\\u202egnp.exe")
    'safe‹U+202E›gnp.exe'
    >>> visible("a\\nb" + "!" * 10_000, 5)
    'a b!!… (+9,998 characters)'
    """
    if len(text) <= longest and text.isprintable():  # nearly every text
        return text
    rest = len(text) - longest
    text = _BLANKS.sub(" ", text[:longest])
    text = _HIDDEN.sub(lambda match: f"‹U+{ord(match[0]):04X}›", text)
    return f"{text}… (+{rest:,} characters)" if rest > 0 else text


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
