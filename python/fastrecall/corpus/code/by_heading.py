"""Cut Markdown by its headings."""

from __future__ import annotations

import re

from fastrecall.corpus.code.spans import ChunkSizes, Lines, Span, split_by_lines

_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


def cut_by_heading(lines: Lines, sizes: ChunkSizes) -> list[Span]:
    """Sections as spans that partition the file; the context is the path of headings above."""
    spans: list[Span] = []
    path: list[tuple[int, str]] = []  # (level, title) of the open headings
    start = 0

    def close(end: int) -> None:
        if end < start:
            return
        titles = [title for _, title in path]
        span = Span(start, end, titles[0] if titles else "", _joined(titles))
        if lines.size(start, end) > sizes.largest:
            spans.extend(split_by_lines(span, lines, sizes))
        else:
            spans.append(span)

    for line, level, title in _headings(lines):
        close(line - 1)
        while path and path[-1][0] >= level:
            path.pop()
        path.append((level, title))
        start = line
    close(len(lines) - 1)
    return spans


def _joined(titles: list[str]) -> tuple[str, ...]:
    return (" > ".join(titles),) if titles else ()


def _headings(lines: Lines) -> list[tuple[int, int, str]]:
    """(line, level, title) of each heading; what stands in a code fence or front matter is text."""
    found = []
    fence = ""
    first = _after_front_matter(lines)
    for number in range(first, len(lines)):
        row = lines.rows[number]
        if opened := _FENCE.match(row):
            mark = opened[1]
            if not fence:
                fence = mark
            elif mark[0] == fence[0] and len(mark) >= len(fence) and not row.strip(f" \t{mark[0]}"):
                fence = ""
        elif fence:
            continue
        elif heading := _ATX.match(row):
            found.append((number, len(heading[1]), (heading[2] or "").strip()))
        elif (under := _UNDERLINE.match(row)) and number > first and _is_title(lines, number - 1):
            found.append(
                (number - 1, 1 if under[1][0] == "=" else 2, lines.rows[number - 1].strip())
            )
    return found


def _is_title(lines: Lines, line: int) -> bool:
    """Whether an underline makes *line* a heading: one line of plain text on its own."""
    row = lines.rows[line].strip()
    alone = line == 0 or lines.is_blank(line - 1)
    return bool(row) and alone and not _ATX.match(row) and row[0] not in "|>-*+"


def _after_front_matter(lines: Lines) -> int:
    if lines.rows[0].strip() == "---":
        for number in range(1, min(len(lines), 200)):
            if lines.rows[number].strip() == "---":
                return number + 1
    return 0
