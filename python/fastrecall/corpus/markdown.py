"""Which parts of a Markdown text are inert: code, quotes, HTML comments.

A line-by-line reading of CommonMark that knows just enough to tell those parts from prose, in time
linear in the text. docs/links.md lists the decisions.
"""

from __future__ import annotations

import re
from bisect import bisect_left

BARRIER = "\0"
"""Stands for each masked character: nothing matches across it, and positions stay."""

_DEEPEST = 40
"""Quotes in quotes and items in items beyond this are not looked into: nobody means them."""

_INERT_SIGNS = ("`", ">", "\t", "~~~", "<!--", "    ")
_BLOCK_STARTS = frozenset("`~<#-*_+=0123456789")
"""What a line begins with if it begins anything but a paragraph or a quote."""

_SPECIAL_STARTS = _BLOCK_STARTS | set("> \t\r\n")

_FENCE = re.compile(r"(`{3,})[^`\n]*$|(~{3,})", re.MULTILINE)
_COMMENT = "<!--"
_COMMENT_END = "-->"
_HEADING = re.compile(r"#{1,6}(?=[ \t\r\n]|\Z)")
_UNDERLINE = re.compile(r"(?:=+|-+)[ \t]*\r?$", re.MULTILINE)
_ITEM = re.compile(r"(?:[-*+]|([0-9]{1,9})[.)])(?=[ \t\r\n]|\Z)")
_MARKS = re.compile(r"\\.|`+|<!--", re.DOTALL)
_TICKS = re.compile(r"`+")


def mask(text: str) -> str:
    r"""The text with every inert character replaced by `BARRIER`; as long as before.

    >>> mask("see `fixes #1` and\n> fixes #2\n\nfixes #3").replace(BARRIER, "_")
    'see __________ and\n___________\nfixes #3'
    """
    if not any(sign in text for sign in _INERT_SIGNS):
        return text
    blocks = _Blocks(text)
    at = 0
    while at < len(text):
        newline = text.find("\n", at)
        end = len(text) if newline < 0 else newline + 1
        blocks.line(at, end)
        at = end
    blocks.end_paragraph()
    return _masked(text, blocks.inert)


def mask_inline(text: str) -> str:
    """As `mask`, for a text that has no blocks (a title): only code spans are inert."""
    if "`" not in text:
        return text
    return _masked(text, _inert_inline(text, 0, len(text)))


def _masked(text: str, inert: list[tuple[int, int]]) -> str:
    parts: list[str] = []
    at = 0
    for start, end in inert:
        parts += text[at:start], BARRIER * (end - start)
        at = end
    parts.append(text[at:])
    return "".join(parts)


class _Blocks:
    """Reads lines; knows what is open at each moment, and collects the inert spans."""

    def __init__(self, text: str, depth: int = 0) -> None:
        self.text = text
        self.depth = depth  # how many quotes this is in
        self.inert: list[tuple[int, int]] = []
        self.items: list[int] = []  # columns at which the contents of open list items begin
        self.bare_item = False  # whether the last line was a list marker and nothing else
        self.fence = ""  # the marks that opened a fence, or a comment
        self.quote: _Blocks | None = None  # what the open quote holds
        self.paragraph: tuple[int, int] | None = None

    def line(self, start: int, end: int, base: int = 0) -> None:
        """Read one line; inside a quote *base* is the column behind its mark."""
        plain = not (self.items or self.fence or self.quote)
        if plain and start < end and self.text[start] not in _SPECIAL_STARTS:
            self.prose(start, end)  # most lines of most texts, done at once
            return
        at = self.skip_space(start, end)
        column = _width(self.text[start:at], base)
        if base and column:
            column -= 1  # one space belongs to the mark
        blank = self.text[at:end].strip() == ""
        if self.bare_item and blank:
            self.items.pop()  # an item may begin with one empty line, not with two
        self.bare_item = False
        if self.fence and (blank or column >= self.container()):
            self.fenced(start, at, end, column)
        elif blank:
            self.end_paragraph()
            self.quote = None
        else:
            self.fence = ""
            self.leave_items(at, end, column)
            self.content(start, at, end, column)

    def container(self) -> int:
        """The column at which the contents of the innermost open list item begin."""
        return self.items[-1] if self.items else 0

    def fenced(self, start: int, at: int, end: int, column: int) -> None:
        """Read a line inside a fence or a comment."""
        if self.fence == _COMMENT:
            self.comment(start, end)
            return
        self.inert.append((start, end))
        if column < self.container() + 4 and self.closes(at, end):
            self.fence = ""

    def comment(self, start: int, end: int) -> None:
        """Read a line, or its rest, inside a comment that began at the start of a line."""
        close = self.text.find(_COMMENT_END, start, end)
        if close < 0:
            self.inert.append((start, end))
            return
        close += len(_COMMENT_END)
        self.inert.append((start, close))
        # What follows on the line is HTML, whose text is still text.
        self.inert += _inert_inline(self.text, close, end)
        self.fence = ""

    def content(self, start: int, at: int, end: int, column: int) -> None:
        """Read what stands on a line behind the list items that it belongs to."""
        text = self.text
        lazy = self.quote is not None and self.quote.is_open()
        if column - self.container() >= 4:
            if self.paragraph:
                self.prose(at, end)
                return
            # Code, or a paragraph that began in the quote and goes on.
            self.inert.append((start, end))
            if not lazy:
                self.quote = None
            return
        if text[at] == ">":
            self.end_paragraph()
            self.quote = self.quote or _Blocks(text, self.depth + 1)
            if self.depth < _DEEPEST:
                self.quote.line(at + 1, end, column + 1)
            self.inert.append((start, end))
            return
        if lazy and not self.starts_block(at, end, column):
            self.inert.append((start, end))
            return
        self.quote = None
        if text[at] not in _BLOCK_STARTS:
            self.prose(at, end)
        elif fence := _FENCE.match(text, at, end):
            self.end_paragraph()
            self.fence = fence[1] or fence[2]
            self.inert.append((start, end))
        elif text.startswith(_COMMENT, at):
            self.end_paragraph()
            self.fence = _COMMENT
            self.inert.append((at, at + 2))
            self.comment(at + 2, end)
        elif _HEADING.match(text, at, end) or _is_rule(text, at, end):
            self.end_paragraph()
            self.inert += _inert_inline(text, at, end)
        elif self.is_underline(at, end, column):
            self.end_paragraph()
        elif len(self.items) < _DEEPEST and (item := self.item(at, end, column)):
            self.enter_item(item, at, end, column)
        else:
            self.prose(at, end)

    def prose(self, at: int, end: int) -> None:
        """Begin a paragraph, or go on with the one that is open."""
        self.paragraph = (self.paragraph[0] if self.paragraph else at, end)

    def enter_item(self, item: re.Match[str], at: int, end: int, column: int) -> None:
        """Open a list item, and read what stands behind its marker."""
        self.end_paragraph()
        behind = self.skip_space(item.end(), end)
        marker = column + item.end() - at
        gap = _width(self.text[item.end() : behind], marker)
        blank = self.text[behind:end].strip() == ""
        self.items.append(marker + (gap if 1 <= gap <= 4 and not blank else 1))
        self.bare_item = blank
        if not blank:
            self.content(item.end(), behind, end, marker + gap)

    def skip_space(self, at: int, end: int) -> int:
        while at < end and self.text[at] in " \t":
            at += 1
        return at

    def is_open(self) -> bool:
        """Whether a paragraph is open that a lazy line could go on."""
        return self.paragraph is not None or (self.quote is not None and self.quote.is_open())

    def leave_items(self, at: int, end: int, column: int) -> None:
        """Close the list items that a line does not belong to, unless it lazily goes on."""
        if not self.items or column >= self.items[-1]:
            return
        if self.is_open() and not self.starts_block(at, end, column):
            return
        self.end_paragraph()
        self.quote = None
        while self.items and column < self.items[-1]:
            self.items.pop()

    def starts_block(self, at: int, end: int, column: int) -> bool:
        """Whether a line begins something that ends a paragraph."""
        text = self.text
        return bool(
            text[at] == ">"
            or _FENCE.match(text, at, end)
            or text.startswith(_COMMENT, at)
            or _HEADING.match(text, at, end)
            or _is_rule(text, at, end)
            or self.item(at, end, column)
        )

    def item(self, at: int, end: int, column: int) -> re.Match[str] | None:
        """The list marker at a place, if one may stand there."""
        item = _ITEM.match(self.text, at, end)
        if item is None or not self.paragraph or column < self.container():
            return item
        # Only an item with content, and an ordered one only with number 1, ends a paragraph.
        empty = self.text[item.end() : end].strip() == ""
        return None if empty or item[1] not in (None, "1") else item

    def is_underline(self, at: int, end: int, column: int) -> bool:
        """Whether a line makes the paragraph above it a heading; a lazy line cannot."""
        in_place = self.paragraph is not None and column >= self.container()
        return in_place and _UNDERLINE.match(self.text, at, end) is not None

    def closes(self, at: int, end: int) -> bool:
        """Whether a line closes the fence: as many marks or more, and nothing else."""
        line = self.text[at:end].rstrip()
        return len(line) >= len(self.fence) and line.strip(self.fence[0]) == ""

    def end_paragraph(self) -> None:
        if self.paragraph:
            self.inert += _inert_inline(self.text, *self.paragraph)
            self.paragraph = None


def _is_rule(text: str, at: int, end: int) -> bool:
    """Whether a line is a thematic break: three or more of one mark and nothing else."""
    mark = text[at]
    if mark not in "-*_":
        return False
    line = text[at:end]
    return not line.strip(mark + " \t\r\n") and line.count(mark) >= 3


def _width(space: str, base: int) -> int:
    """How many columns white space takes that begins at a column; tabs stop at every fourth."""
    return len((" " * (base % 4) + space).expandtabs(4)) - base % 4 if "\t" in space else len(space)


def _inert_inline(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Code spans and comments inside one paragraph."""
    if text.find("`", start, end) < 0 and text.find(_COMMENT, start, end) < 0:
        return []
    inert: list[tuple[int, int]] = []
    closers: dict[int, list[int]] | None = None
    no_comment_end = False
    at = start
    while found := _MARKS.search(text, at, end):
        at = found.end()
        mark = found[0]
        if mark[0] == "`":
            if closers is None:
                closers = {}
                for run in _TICKS.finditer(text, start, end):
                    closers.setdefault(len(run[0]), []).append(run.start())
            runs = closers.get(len(mark), [])
            nth = bisect_left(runs, at)
            if nth < len(runs):
                at = runs[nth] + len(mark)
                inert.append((found.start(), at))
        elif mark == _COMMENT and not no_comment_end:
            close = text.find(_COMMENT_END, found.start() + 2, end)
            if close < 0:
                no_comment_end = True
            else:
                at = close + len(_COMMENT_END)
                inert.append((found.start(), at))
    return inert
