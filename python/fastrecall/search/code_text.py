"""What of a chunk is searched: its place, its names, its documentation, its body."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from fastrecall.corpus.code import CodeChunk

_PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_a-zA-Z]+")
_COMMENT = re.compile(
    r"\s*(?://[/!]?|/\*\*?|\*/?|#(?![\[!])(?!\s*(?:include|define|if|endif|pragma))|--|<!--)\s?"
)
_ATTRIBUTE = re.compile(r"\s*(?:#!?\[|@[\w.]+)")
_LICENCE = re.compile(r"copyright|licen[sc]e", re.IGNORECASE)
_DOCSTRING = re.compile(r'\s*[rR]?("""|\'\'\')(.*?)\1', re.DOTALL)
_SIGNATURE_CHARACTERS = 200

HEAD_CHARACTERS = 600
"""How much of a chunk's code is embedded. What a function is stands at its head: twice as much took
twice the time to index, and found nothing more."""

_STOP = frozenset(
    """a after an and any are as at be been being before between but by can could did do does during
    each for from had happen happens has have how i if in into is it its no not of on onto or our so
    should than that the their them then there they this those to us was we were what when where
    which while who why will with would you your""".split()  # noqa: SIM905
)
"""Words of a question, not of an answer; a body that holds many of them answers nothing better."""


@dataclass(frozen=True, slots=True)
class ChunkText:
    """The parts of one chunk as texts."""

    path: str
    symbols: tuple[str, ...]
    documentation: str
    signature: str
    body: str

    @property
    def head(self) -> str:
        """For embedding: where it stands, then the code as it is, as far as it is worth reading."""
        return f"{self.path} {'; '.join(self.symbols)}\n{self.body}"[:HEAD_CHARACTERS]

    @property
    def summary(self) -> str:
        r"""For embedding: what it is called and said to do, in plain words.

        >>> chunk = CodeChunk("src/net/retry.rs", "rust", ("impl Client > fn sendAgain",), 1, 2,
        ...     "/// Sends once more.\nfn sendAgain(path: &str) {")
        >>> chunk_text(chunk).summary
        'net retry. impl Client. fn send Again. Sends once more. fn send Again path str'
        """
        around = self.symbols[0].rpartition(" > ")[0] if self.symbols else ""
        names = dict.fromkeys(spoken(symbol.rpartition(" > ")[2]) for symbol in self.symbols)
        parts = [
            _spoken_path(self.path),
            spoken(around),
            "; ".join(names),
            self.documentation.rstrip("."),
            spoken(self.signature),
        ]
        return ". ".join(filter(None, parts))


def chunk_text(chunk: CodeChunk) -> ChunkText:
    """Take a chunk apart."""
    body = chunk.text if chunk.start > 1 else without_licence(chunk.text)
    documentation, signature = _documentation_and_signature(body)
    return ChunkText(chunk.path, chunk.symbols, documentation, signature, body)


def without_licence(text: str) -> str:
    r"""The text without a comment at its head that speaks of copyright or licence.

    >>> without_licence("// Copyright 2026 X\n// Licensed …\n\nfn main() {}")
    'fn main() {}'
    """
    rows = text.split("\n")
    end = 0
    while end < len(rows) and (_COMMENT.match(rows[end]) or rows[end].startswith("#!")):
        end += 1
    if end and end < len(rows) and _LICENCE.search("\n".join(rows[:end])):
        return "\n".join(rows[end:]).strip("\n")
    return text


def spoken(code: str) -> str:
    """Identifiers as words.

    >>> spoken("HTTPServer::openTable(max_rows)")
    'HTTP Server open Table max rows'
    """
    return " ".join(_PARTS.findall(code))


def without_question_words(query: str) -> str:
    """The query without words that every question has; all of it when nothing else is left.

    >>> without_question_words("where do we decide to retry")
    'decide retry'
    """
    kept = [word for word in query.split() if word.strip("?!.,;:").lower() not in _STOP]
    return " ".join(kept) or query


def fields(texts: list[ChunkText]) -> Mapping[str, list[str]]:
    """The texts as fields of a lexical index."""
    return {
        "path": [text.path for text in texts],
        "symbols": ["; ".join(text.symbols) for text in texts],
        "documentation": [text.documentation for text in texts],
        "body": [text.body for text in texts],
    }


def _spoken_path(path: str) -> str:
    """The path as words, without those that every path has.

    >>> _spoken_path("src/store/mod.rs")
    'store'
    """
    parts = PurePosixPath(path).with_suffix("").parts
    return spoken(" ".join(part for part in parts if part not in ("src", "mod", "__init__")))


def _documentation_and_signature(text: str) -> tuple[str, str]:
    """The comment above the first code line (or the docstring below it), and that line.

    A signature runs on until a brace, a colon or a semicolon ends it.
    """
    comments: list[str] = []
    signature = ""
    rows = text.split("\n")
    for number, row in enumerate(rows):
        mark = _COMMENT.match(row)
        if mark and not signature:
            comments.append(row[mark.end() :].removesuffix("*/").strip())
        elif row.strip() and (signature or not _ATTRIBUTE.match(row)):
            signature = f"{signature} {row.strip()}".strip()
            if signature.endswith(("{", ":", ";")) or len(signature) > _SIGNATURE_CHARACTERS:
                docstring = _DOCSTRING.match("\n".join(rows[number + 1 :]))
                if docstring:
                    comments.append(" ".join(docstring[2].split()))
                break
    return " ".join(filter(None, comments)), signature[:_SIGNATURE_CHARACTERS]
