"""References to issues in texts: the article's pattern, GitHub's grammar, and plain addresses.

All functions want lower-case text, in which the search is fastest: case never matters here.

docs/links.md has the sources, and a decision for every doubtful form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_OWNER_AND_NAME = r"[a-z0-9][a-z0-9-]{0,38}/[a-z0-9._-]{1,100}"
_NUMBER = r"[1-9][0-9]{0,9}(?!_*[^\W_])"
_SITE = "github.com/"

REFERENCE = rf"""
    (?: (?P<repo>{_OWNER_AND_NAME})? \# | gh- ) (?P<number>{_NUMBER})
    | <? https?://(?:www\.)?github\.com/ (?P<address_repo>{_OWNER_AND_NAME})
      /(?:issues|pull)/ (?P<address_number>{_NUMBER})
"""
"""Any form in which an issue can be named, for verbose patterns; `reference_of` reads the match."""

_KEYWORD = "close[sd]?|fix(?:e[sd])?|resolve[sd]?"
_GERUND = "closing|fixing|resolving"
_STEMS = ("clos", "fix", "resolv")

# An underscore in front may be emphasis around the whole reference, but not part of a longer name.
_WORD_START = r"(?:(?<!\w)|(?<=(?<![\w\\])_)|(?<=(?<![\w\\])__))"


def _closing(keyword: str) -> re.Pattern[str]:
    return re.compile(rf"{_WORD_START}(?:{keyword}):?[ \t\xa0]+(?:{REFERENCE})", re.VERBOSE)


_CLOSING = _closing(_KEYWORD)
_CLOSING_IN_TITLE = _closing(f"{_KEYWORD}|{_GERUND}")

# The article's pattern, read as JavaScript reads it: words and digits are ASCII, white space is
# Unicode, and the case is ignored (without that, "Closes #1" would not count).
_SPACE = r"[\s\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]"
_PUBLISHED = re.compile(rf"\b(?:clos|fix|resolv)\w*{_SPACE}+#(\d+)", re.ASCII)
_MORE_DIGITS_THAN_NUMBERS_HAVE = 19

_ADDRESS = re.compile(
    rf"{re.escape(_SITE)}({_OWNER_AND_NAME})/(issues|pull)/({_NUMBER})",
)


class Reference(NamedTuple):
    """A reference in a text: ``repo`` is "" for the text's own repository; its span."""

    repo: str
    number: int
    start: int
    end: int


def published_numbers(text: str) -> Iterator[int]:
    """The numbers that the article's pattern finds, in a lower-case text.

    >>> list(published_numbers("fixing #5, closely #6, fixes: #7, fixes o/r#8"))
    [5, 6]
    """
    for match in _at_stems(_PUBLISHED, text):
        yield int(match[1][:_MORE_DIGITS_THAN_NUMBERS_HAVE])


def closing_references(text: str) -> Iterator[Reference]:
    """The references that GitHub would close, in a lower-case text whose inert parts are masked.

    >>> [r.number for r in closing_references("fixes #1, #2. closes: gh-3, fixing #4, fix a #5")]
    [1, 3]
    """
    return map(reference_of, _at_stems(_CLOSING, text))


def title_references(title: str) -> Iterator[Reference]:
    """Closing references in a lower-case title, where GitHub does not look but people write them.

    Also takes closing, fixing and resolving. A single digit counts only when the keyword opens
    the title or a new sentence or clause: "Backup fixes #2" is the second part of something.

    >>> [r.number for r in title_references("fixing #627. fixes #3")]
    [627, 3]
    >>> list(title_references("backup fixes #2"))
    []
    """
    for match in _at_stems(_CLOSING_IN_TITLE, title):
        reference = reference_of(match)
        if reference.number > 9 or _opens_clause(title, match.start()):
            yield reference


def _opens_clause(title: str, at: int) -> bool:
    while at > 0 and title[at - 1].isspace():
        at -= 1
    return at == 0 or not title[at - 1].isalnum()


def issue_addresses(text: str) -> Iterator[Reference]:
    """Full addresses of issues, in a lower-case text whose inert parts are masked.

    >>> list(issue_addresses("see https://github.com/o/r/issues/5#issuecomment-1"))
    [Reference(repo='o/r', number=5, start=12, end=35)]
    """
    for match in _ADDRESS.finditer(text):
        if match[2] == "issues":
            yield Reference(match[1], int(match[3]), match.start(), match.end())


def addressed_repositories(text: str) -> list[str]:
    """The repositories of all issues and PRs that a text gives addresses of.

    >>> addressed_repositories("https://github.com/o/r/issues/5, https://github.com/o/r/pull/7")
    ['o/r', 'o/r']
    """
    if _SITE not in text:
        return []
    return [match[1] for match in _ADDRESS.finditer(text.lower())]


def reference_of(match: re.Match[str]) -> Reference:
    """The reference in a match of a pattern that contains `REFERENCE`."""
    repo = match["repo"] or match["address_repo"] or ""
    number = int(match["number"] or match["address_number"])
    return Reference(repo, number, match.start(), match.end())


def _at_stems(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Matches that begin at a stem of a closing word, in order.

    Looking for the plain stems first is many times faster than letting the pattern look.
    """
    if "#" not in text and _SITE not in text and "gh-" not in text:
        return
    places = []
    for stem in _STEMS:
        at = text.find(stem)
        while at >= 0:
            places.append(at)
            at = text.find(stem, at + 1)
    for at in sorted(places):
        match = pattern.match(text, at)
        if match:
            yield match
