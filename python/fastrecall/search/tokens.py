r"""Words and index terms of tickets and code, in any script.

A text is cut into *words* by one regular expression; each distinct word is then turned into index
*terms* once: the word itself, the parts of an identifier, the character pairs of a script that is
written without spaces.
"""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata

# `::` joins identifiers (`std::vector`), a dot joins digits only (`1.3`, `0.6.0-rc1`): `end.Next`
# is two sentences more often than it is one name.
_JOINED = r"{0}(?:(?:::|(?<=\d)\.(?=\d)){0})*"
_ASCII_WORDS = re.compile(_JOINED.format(r"\w+"), re.ASCII)
_UNICODE_WORDS = re.compile(_JOINED.format(r"\w+"))

# Scripts written without spaces between words, and Hangul, whose words carry their particles:
# Thai, Lao, Tibetan, Myanmar, Hangul jamo, Khmer, kana, bopomofo, Han, Hangul syllables, Yi.
_UNSPACED = (
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007"
    "\u3040-\u318f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f"
    "\uaa60-\uaa7f\uac00-\ud7ff\uf900-\ufaff\U00016fe0-\U0001b2ff\U00020000-\U0003ffff"
)
_SEGMENTS = re.compile(f"([{_UNSPACED}]+)")

_REFERENCES = re.compile(
    r"(?:\b(?:clos|fix|resolv)\w*:?\s+)?"  # the word that closes goes with what it closes
    r"(?:https?://\S*/(?:issues|pull|pulls)/\d+\S*"  # a ticket's address, with its anchor
    r"|(?:\b[\w.-]+/[\w.-]+)?#\d+\b"  # #12, owner/name#12
    r"|\bGH-\d+\b)",
    re.IGNORECASE,
)

_STEM = 6

FUNCTION_WORDS = frozenset(
    [
        "a",
        "all",
        "also",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "but",
        "by",
        "can",
        "could",
        "do",
        "does",
        "for",
        "from",
        "has",
        "have",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "may",
        "no",
        "not",
        "of",
        "on",
        "only",
        "or",
        "s",
        "should",
        "so",
        "such",
        "t",
        "than",
        "that",
        "the",
        "their",
        "then",
        "there",
        "these",
        "they",
        "this",
        "to",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "who",
        "why",
        "will",
        "with",
        "would",
        "you",
    ]
)
"""English words that tell how things are said and not what is said."""


def mask_references(text: str) -> str:
    """Replace every reference to a ticket (``#12``, ``o/r#12``, ``GH-12``, its address) by a space.

    A closing word before it goes too: it would mark the PRs that gold pairs are made from.
    Numbers that are no references stay.

    >>> mask_references("Fixes #12, see o/r#3 and https://github.com/o/r/pull/9#note; RFC 8446")
    ' , see   and   RFC 8446'
    """
    if "#" not in text and "://" not in text and "gh-" not in text.lower():
        return text
    return _REFERENCES.sub(" ", text)


def words(text: str) -> list[str]:
    """The words of a text in order: case kept, NFKC, names joined by ``::`` in one piece.

    >>> words("std::vector<T> leaks in TLS 1.3, não é?")
    ['std::vector', 'T', 'leaks', 'in', 'TLS', '1.3', 'não', 'é']
    """
    if text.isascii():
        return _ASCII_WORDS.findall(text)
    text = unicodedata.normalize("NFKC", text)
    if _combining_marks().isdisjoint(text):
        return _UNICODE_WORDS.findall(text)  # ten times faster than the other
    return _words_with_marks().findall(text)


@functools.lru_cache(maxsize=1 << 16)
def terms(word: str) -> tuple[str, ...]:
    """The index terms of one word from `words`: casefolded whole first, then its parts.

    Identifiers split at ``_``, ``::``, changes of case and between letters and digits; the whole
    is kept, and no term stands twice. Runs of Han, kana, Hangul, Thai and other scripts without
    spaces give each character and each pair of neighbours, so that a query of any length finds
    them.

    >>> terms("parseHTTPHeader")
    ('parsehttpheader', 'parse', 'http', 'header')
    >>> terms("std::max_size")
    ('std::max_size', 'std', 'max_size', 'max', 'size')
    >>> terms("死锁了")
    ('死', '锁', '了', '死锁', '锁了')
    """
    if word.isascii():
        return _identifier_terms(word)
    found: list[str] = []
    for place, segment in enumerate(_SEGMENTS.split(word)):
        if place % 2:
            found += _pair_terms(segment)
        elif segment:
            found += _identifier_terms(segment)
    return tuple(found)


def stems(word: str) -> tuple[str, ...]:
    """The first six letters of each of a word's `terms`; English function words give none.

    Cutting words short joins their forms in any language that puts endings on them, without rules
    for one; terms with digits or ``_`` stay whole.

    >>> stems("encryption"), stems("encrypted"), stems("the"), stems("max_size")
    (('encryp',), ('encryp',), (), ('max_size', 'max', 'size'))
    """
    return tuple(
        dict.fromkeys(
            term[:_STEM] if term.isalpha() else term
            for term in terms(word)
            if term not in FUNCTION_WORDS
        )
    )


def _identifier_terms(word: str) -> tuple[str, ...]:
    """The whole, then each name between ``::``, then the parts of that name; each once."""
    whole = word.casefold()
    if (word.isalpha() and (word == whole or word[1:].islower())) or word.isdecimal():
        return (whole,)
    found = {whole: None}
    for name in word.split("::"):
        found[name.casefold()] = None
        found.update((part.casefold(), None) for part in _identifier_parts(name))
    return tuple(found)


def _identifier_parts(name: str) -> list[str]:
    """Cut at ``_``, before a capital that follows a small letter or starts a capitalised word,
    and where letters meet digits."""
    parts: list[str] = []
    for piece in name.split("_"):
        kinds = [_character_kind(character) for character in piece]
        start = 0
        for at in range(1, len(piece)):
            before, here = kinds[at - 1], kinds[at]
            after = kinds[at + 1] if at + 1 < len(piece) else here
            # In `HTTPServer` the cut is before the S: a capital between a capital and a small one.
            capital = here == "A" and (before == "a" or (before == "A" and after == "a"))
            if capital or (before == "0") != (here == "0"):
                parts.append(piece[start:at])
                start = at
        if piece:
            parts.append(piece[start:])
    return parts


def _character_kind(character: str) -> str:
    if character == "." or character.isdecimal():  # words keep a dot between digits only
        return "0"
    return "A" if character.isupper() else "a"


def _pair_terms(run: str) -> list[str]:
    """Characters (with their combining marks), then pairs of neighbours."""
    clusters: list[str] = []
    for character in run.casefold():
        if clusters and unicodedata.category(character)[0] == "M":
            clusters[-1] += character
        else:
            clusters.append(character)
    return clusters + [left + right for left, right in itertools.pairwise(clusters)]


@functools.cache
def _combining_marks() -> frozenset[str]:
    """All combining marks, looked up once, when first needed."""
    return frozenset(
        chr(point) for point in range(0x300, 0x20000) if unicodedata.category(chr(point))[0] == "M"
    )


@functools.cache
def _words_with_marks() -> re.Pattern[str]:
    r"""Words of any script. Python's ``\w`` leaves out combining marks, and so would cut words of
    Thai, Hindi or pointed Hebrew apart."""
    return re.compile(_JOINED.format(rf"[\w{''.join(sorted(_combining_marks()))}]+"))
