"""Which parts of a Markdown text are inert: code, quotes, HTML comments.

A line-by-line reading of CommonMark that knows just enough to tell those parts from prose, in time
linear in the text. docs/links.md lists the decisions.
"""

from __future__ import annotations

import re
from bisect import bisect_left

BARRIER = "\0"
"""Stands for each masked character: nothing matches across it, and positions stay."""

_MAYBE_INERT = re.compile(r"[`>]|~~~|<!--|^[ ]*(?: {4}|\t)", re.MULTILINE)
_FENCE = re.compile(r"(`{3,})[^`\n]*$|(~{3,})", re.MULTILINE)
_COMMENT = "<!--"
_COMMENT_END = "-->"
_HEADING = re.compile(r"#{1,6}(?=[ \t\r\n]|\Z)")
_RULE = re.compile(r"(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})\r?$", re.MULTILINE)
_ITEM = re.compile(r"(?:[-*+]|([0-9]{1,9})[.)])(?=[ \t\r\n]|\Z)")
_MARKS = re.compile(r"\\.|`+|<!--", re.DOTALL)
_TICKS = re.compile(r"`+")


def mask(text: str) -> str:
    r"""The text with every inert character replaced by `BARRIER`; as long as before.

    >>> mask("see `fixes #1` and\n> fixes #2\n\nfixes #3").replace(BARRIER, "_")
    'see __________ and\n___________\nfixes #3'
    """
    if not _MAYBE_INERT.search(text):
        return text
    blocks = _Blocks(text)
    at = 0
    while at < len(text):
        newline = text.find("\n", at)
        at = blocks.line(at, len(text) if newline < 0 else newline + 1)
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
    """Reads lines; knows the open list items, fence and paragraph, and collects inert spans."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.inert: list[tuple[int, int]] = []
        self.items: list[int] = []  # columns at which the contents of open list items begin
        self.fence: tuple[str, int] | None = None  # its marker; column of the item it is in
        self.quote: _Blocks | None = None  # what the open quote holds
        self.paragraph: tuple[int, int] | None = None

    def line(self, start: int, end: int) -> int:
        """Read a line; returns where to go on, which is its end unless a comment ran on."""
        at = self.skip_space(start, end)
        column = _columns(self.text[start:at])
        if self.text[at:end].strip("\r\n") == "":
            if self.fence:
                self.inert.append((start, end))
            self.end_paragraph()
            self.quote = None
            return end
        if self.fence:
            marker, container = self.fence
            if column >= container:
                self.inert.append((start, end))
                if column < container + 4 and self.closes(marker, at, end):
                    self.fence = None
                return end
            self.fence = None
        self.leave_items(at, end, column)
        return self.content(start, at, end, column)

    def content(self, start: int, at: int, end: int, column: int) -> int:
        """Read what stands on a line behind the list items that it belongs to."""
        text = self.text
        inside = column - (self.items[-1] if self.items else 0)
        if inside >= 4:
            if self.quote and self.quote.is_open():
                self.inert.append((start, end))
            elif self.paragraph:
                self.paragraph = (self.paragraph[0], end)
            else:
                self.inert.append((start, end))
            return end
        if text[at] == ">":
            self.end_paragraph()
            self.quote = self.quote or _Blocks(text)
            inner = at + 2 if text[at + 1 : at + 2] in (" ", "\t") else at + 1
            self.quote.line(min(inner, end), end)
            self.inert.append((start, end))
            return end
        if self.quote and self.quote.is_open() and not self.starts_block(at, end):
            # A paragraph that began in the quote goes on, although this line has no ">".
            self.inert.append((start, end))
            return end
        self.quote = None
        fence = _FENCE.match(text, at, end)
        if fence:
            self.end_paragraph()
            self.fence = (fence[1] or fence[2], self.items[-1] if self.items else 0)
            self.inert.append((start, end))
            return end
        if text.startswith(_COMMENT, at):
            self.end_paragraph()
            close = text.find(_COMMENT_END, at + 2)
            close = len(text) if close < 0 else close + len(_COMMENT_END)
            self.inert.append((at, close))
            if close > end and text[end - 1] != "\n":
                return len(text)
            rest = text.find("\n", close)
            rest = len(text) if rest < 0 else rest + 1
            if rest > close:
                # The rest of the last line is HTML, where text is still text.
                self.paragraph = (close, rest)
                self.end_paragraph()
            return rest
        item = None if _RULE.match(text, at, end) else self.item(at, end)
        if item:
            self.end_paragraph()
            behind = self.skip_space(item.end(), end)
            marker = column + item.end() - at
            gap = _columns(text[item.end() : behind])
            blank = text[behind:end].strip("\r\n") == ""
            self.items.append(marker + (gap if 1 <= gap <= 4 and not blank else 1))
            if blank:
                return end
            return self.content(start, behind, end, marker + gap)
        if _HEADING.match(text, at, end) or _RULE.match(text, at, end):
            self.end_paragraph()
            self.paragraph = (at, end)
            self.end_paragraph()
            return end
        self.paragraph = (self.paragraph[0] if self.paragraph else at, end)
        return end

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
        if self.is_open() and not self.starts_block(at, end):
            return
        self.end_paragraph()
        self.quote = None
        while self.items and column < self.items[-1]:
            self.items.pop()

    def starts_block(self, at: int, end: int) -> bool:
        """Whether a line begins something that ends a paragraph."""
        text = self.text
        return bool(
            text[at] == ">"
            or _FENCE.match(text, at, end)
            or text.startswith(_COMMENT, at)
            or _HEADING.match(text, at, end)
            or _RULE.match(text, at, end)
            or self.item(at, end)
        )

    def item(self, at: int, end: int) -> re.Match[str] | None:
        """The list marker at a place, if one may stand there."""
        item = _ITEM.match(self.text, at, end)
        if item is None or not self.paragraph or self.items:
            return item
        # Only an item with content, and an ordered one only with number 1, ends a paragraph.
        empty = self.text[item.end() : end].strip() == ""
        return None if empty or item[1] not in (None, "1") else item

    def closes(self, marker: str, at: int, end: int) -> bool:
        """Whether a line closes a fence: as many marks or more, and nothing else."""
        line = self.text[at:end].rstrip()
        return len(line) >= len(marker) and line.strip(marker[0]) == ""

    def end_paragraph(self) -> None:
        if self.paragraph:
            self.inert += _inert_inline(self.text, *self.paragraph)
            self.paragraph = None


def _columns(space: str) -> int:
    return len(space.expandtabs(4)) if "\t" in space else len(space)


def _inert_inline(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Code spans and comments inside one paragraph."""
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
