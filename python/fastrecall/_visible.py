"""Texts that may come from anybody, made harmless to look at.

Escaping is the business of what prints them (HTML, Markdown); here goes what no escaping helps
against: characters that reorder or hide what stands around them, or command a terminal; great
length.
"""

from __future__ import annotations

import json
import re

_SEEN_OTHERWISE = (
    "\u007f-\u009f"  # control characters that JSON leaves as they are
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # direction marks and overrides
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0"  # invisible
    "\u200b\u2028\u2029\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff"  # lone surrogates, which no encoding takes
    "\U000e0000-\U000e01ef"  # tags and more variation selectors: letters that nobody sees
)
_HIDDEN = re.compile(f"[\u0000-\u001f{_SEEN_OTHERWISE}]")
_HIDDEN_IN_LINES = re.compile(f"[\u0000-\u0008\u000b-\u001f{_SEEN_OTHERWISE}]")
_HIDDEN_IN_JSON = re.compile(f"[{_SEEN_OTHERWISE}]")
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
    if len(text) <= longest and text.isascii() and text.isprintable():  # most texts
        return text
    rest = len(text) - longest
    text = _BLANKS.sub(" ", text[:longest])
    text = _HIDDEN.sub(_spelt, text)
    return f"{text}… (+{rest:,} characters)" if rest > 0 else text


def visible_lines(text: str) -> str:
    r"""*text* with all its lines and tabs, what would hide, reorder or command spelt out.

    >>> visible_lines("pass\n\x1b[2Kfail")
    'pass\n‹U+001B›[2Kfail'
    """
    return text if text.isascii() and text.isprintable() else _HIDDEN_IN_LINES.sub(_spelt, text)


def visible_json(document: str) -> str:
    r"""The same JSON document, with such characters in its texts as escapes.

    >>> visible_json('{"a": "\u202e"}')
    '{"a": "\\u202e"}'
    """
    return _HIDDEN_IN_JSON.sub(lambda match: json.dumps(match[0])[1:-1], document)


def _spelt(match: re.Match[str]) -> str:
    return f"‹U+{ord(match[0]):04X}›"
