"""Which words of a Markdown text are prose, by a full CommonMark parser: slow, and the truth."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.token import Token

_COMMENT = re.compile(r"<!--(?:>|->|.*?(?:-->|\Z))", re.DOTALL)


def prose(text: str) -> str:
    """The text outside code, block quotes and HTML comments, in order."""
    parts: list[str] = []
    quotes = 0
    for token in MarkdownIt("commonmark").parse(text):
        quotes += {"blockquote_open": 1, "blockquote_close": -1}.get(token.type, 0)
        if not quotes:
            parts += _block(token)
    return " ".join(parts)


def _block(token: Token) -> list[str]:
    if token.type == "html_block":
        return [_COMMENT.sub(" ", token.content)]
    if token.type == "inline":
        return [
            "" if child.content.startswith("<!--") else child.content
            for child in token.children or ()
            if child.type != "code_inline"
        ]
    return []
