"""References to issues in texts: GitHub's grammar of closing keywords, and plain addresses.

FACTS B1 and B6 have the sources; docs/links.md has a decision for every doubtful form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_OWNER_AND_NAME = r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}"
_NUMBER = r"[1-9][0-9]{0,9}(?!_*[^\W_])"

REFERENCE = rf"""
    (?: (?P<repo>{_OWNER_AND_NAME})? \# | gh- ) (?P<number>{_NUMBER})
    | <? https?://(?:www\.)?github\.com/ (?P<address_repo>{_OWNER_AND_NAME})
      /(?:issues|pull)/ (?P<address_number>{_NUMBER})
"""
"""Any form in which an issue can be named, for verbose patterns; `reference_of` reads the match."""

_KEYWORD = r"(?a:close[sd]?|fix(?:e[sd])?|resolve[sd]?)"
_GERUND = r"(?a:closing|fixing|resolving)"

# A word begins after anything but a letter or a digit; an underscore may be emphasis around the
# whole reference, but not a part of a longer name.
_WORD_START = r"(?<!\w)(?:(?<!\\)_{1,2})?"


def _closing(keyword: str) -> re.Pattern[str]:
    return re.compile(
        rf"{_WORD_START}{keyword}:?[ \t\xa0]+(?:{REFERENCE})", re.IGNORECASE | re.VERBOSE
    )


_CLOSING = _closing(_KEYWORD)
_CLOSING_IN_TITLE = _closing(rf"(?:{_KEYWORD}|{_GERUND})")

_ISSUE_ADDRESS = re.compile(
    rf"https?://(?:www\.)?github\.com/({_OWNER_AND_NAME})/issues/({_NUMBER})", re.IGNORECASE
)
_ANY_ADDRESS = re.compile(
    rf"github\.com/({_OWNER_AND_NAME})/(?:issues|pull)/[1-9]|(?<![\w/])({_OWNER_AND_NAME})\#[1-9]"
)


class Reference(NamedTuple):
    """A reference in a text: ``repo`` is "" for the text's own repository; a span of the text."""

    repo: str
    number: int
    start: int
    end: int


def closing_references(text: str) -> Iterator[Reference]:
    """The references that GitHub would close, in a text whose inert parts are masked.

    >>> [r.number for r in closing_references("Fixes #1, #2. Closes: GH-3, fixing #4, fix a #5")]
    [1, 3]
    """
    return map(reference_of, _CLOSING.finditer(text))


def title_references(title: str) -> Iterator[Reference]:
    """Closing references in a title, where GitHub does not look but people write them.

    Also takes closing, fixing and resolving. A single digit counts only when the keyword opens
    the title or a new sentence or clause: "Backup fixes #2" is the second part of something.

    >>> [r.number for r in title_references("Fixing #627. Fixes #3")]
    [627, 3]
    >>> list(title_references("Backup Fixes #2"))
    []
    """
    for match in _CLOSING_IN_TITLE.finditer(title):
        reference = reference_of(match)
        before = title[: match.start()].rstrip()
        if reference.number > 9 or not before or not before[-1].isalnum():
            yield reference


def issue_addresses(text: str) -> Iterator[Reference]:
    """Full addresses of issues, in a text whose inert parts are masked.

    >>> list(issue_addresses("see https://github.com/o/r/issues/5#issuecomment-1"))
    [Reference(repo='o/r', number=5, start=4, end=35)]
    """
    for match in _ISSUE_ADDRESS.finditer(text):
        yield Reference(match[1], int(match[2]), match.start(), match.end())


def named_repositories(text: str) -> Iterator[str]:
    """The repositories that a text refers to by address or as ``owner/name#N``.

    >>> list(named_repositories("see o/r#5 and https://github.com/o/other/pull/7"))
    ['o/r', 'o/other']
    """
    for match in _ANY_ADDRESS.finditer(text):
        yield match[1] or match[2]


def reference_of(match: re.Match[str]) -> Reference:
    """The reference in a match of a pattern that contains `REFERENCE`."""
    repo = match["repo"] or match["address_repo"] or ""
    number = int(match["number"] or match["address_number"])
    return Reference(repo, number, match.start(), match.end())
