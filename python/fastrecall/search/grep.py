"""Structural search: find code by its syntax. Deterministic, no model, no index."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fastrecall._lazy import require
from fastrecall.corpus.code.languages import Language, language_named, language_of, languages
from fastrecall.corpus.code.source import SourceFile, files_on_disk, text_file
from fastrecall.errors import InputError

_PURPOSE = "structural search"


@dataclass(frozen=True, slots=True, order=True)
class Match:
    """A piece of code that has the pattern's shape; ``line`` and ``column`` count from 1."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    text: str


def structural_search(
    pattern: str, path: str | os.PathLike[str], *, language: str | None = None
) -> list[Match]:
    """Find code of the pattern's shape, in (path, line, column) order.

    Args:
        pattern: code in which ``$NAME`` stands for any one node and ``$$$NAME`` for any number,
            such as ``$X.unwrap()`` or ``fn $F($$$) { $$$ }`` (the syntax of ast-grep).
        path: a file, or the folder of a source tree; .gitignore is respected.
        language: search only this language; else each file in its own, wherever the pattern is
            valid code.

    Raises:
        InputError: no such path or language, or a pattern that is code in no language searched.
        MissingExtraError: the extra ``code`` is not installed.

    >>> import pathlib, tempfile
    >>> root = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (root / "a.py").write_text("x = 1\\ny = open(x, mode='r')\\n")
    >>> [(m.path, m.line, m.column, m.text) for m in structural_search("open($$$)", root)]
    [('a.py', 2, 5, "open(x, mode='r')")]
    """
    if not pattern.strip():
        raise InputError("the pattern is empty; expected code such as '$X.unwrap()'")
    wanted = None if language is None else language_named(language)
    # A named language is checked at once, also when the tree holds no file of it.
    problems: dict[str, str | None] = {}
    if wanted is not None and (problem := _problem(pattern, wanted)):
        raise InputError(problem)
    matches: list[Match] = []
    for file in _files(Path(path)):
        spoken = languages().get(language_of(file.path, file.text))
        if spoken is None or spoken.structural is None or spoken.name != (wanted or spoken).name:
            continue
        if spoken.name not in problems:
            problems[spoken.name] = _problem(pattern, spoken)
        if problems[spoken.name] is None:
            matches.extend(_matches(pattern, file, spoken.structural))
    if problems and all(problems.values()):
        raise InputError(next(filter(None, problems.values())))
    return sorted(matches)


def _files(path: Path) -> Iterator[SourceFile]:
    if path.is_file():
        found = text_file(path)
        if isinstance(found, SourceFile):
            yield found
        else:
            raise InputError(f"{path} cannot be searched: {found.reason}")
    else:
        yield from (file for file in files_on_disk(path) if isinstance(file, SourceFile))


def _matches(pattern: str, file: SourceFile, structural: str) -> Iterator[Match]:
    ast_grep = require("ast_grep_py", extra="code", purpose=_PURPOSE)
    for node in ast_grep.SgRoot(file.text, structural).root().find_all(pattern=pattern):
        start, end = node.range().start, node.range().end
        yield Match(
            file.path,
            start.line + 1,
            start.column + 1,
            end.line + 1,
            end.column + 1,
            node.text(),
        )


def _problem(pattern: str, language: Language) -> str | None:
    """Why the pattern cannot be searched in *language*, as a sentence; ``None`` when it can."""
    ast_grep = require("ast_grep_py", extra="code", purpose=_PURPOSE)
    head = f"pattern {pattern!r} cannot be searched as {language.name}"
    hint = "write one whole expression, statement or item"
    # ast-grep searches a broken pattern without complaint and finds nothing: look before. Like
    # ast-grep itself, put a letter where `$` is no part of a name.
    code = pattern if language.name in _DOLLAR_IS_A_LETTER else pattern.replace("$", "µ")
    root = ast_grep.SgRoot(code, language.structural).root()
    if root.find(kind="ERROR") is not None:
        return f"{head}: it has a syntax error; {hint}"
    try:
        root.find(pattern=pattern)
    except RuntimeError as error:
        causes = [line.strip() for line in str(error).partition("Stack backtrace")[0].splitlines()]
        reason = next((line.partition(": ")[2] for line in reversed(causes) if line), "invalid")
        return f"{head}: {reason.rstrip('. ').replace('µ', '$')}; {hint}"
    return None


_DOLLAR_IS_A_LETTER = frozenset(["java", "javascript", "typescript", "tsx"])
