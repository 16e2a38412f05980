"""The languages that are cut by syntax, read from ``languages.toml``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from fastrecall._lazy import require
from fastrecall._toml import packaged
from fastrecall.errors import InputError

if TYPE_CHECKING:
    from tree_sitter import Language as Grammar
    from tree_sitter import Parser

_PURPOSE = "cutting code by syntax"


@dataclass(frozen=True)
class Language:
    """One language as data; the fields are explained at the head of ``languages.toml``."""

    name: str
    files: tuple[str, ...]
    grammar: str
    structural: str | None
    units: Mapping[str, str]
    containers: Mapping[str, str]
    wrappers: frozenset[str]
    attached: frozenset[str]


@cache
def languages() -> Mapping[str, Language]:
    """All languages by name.

    >>> languages()["go"].units["function_declaration"]
    'func'
    """
    tables = packaged("fastrecall.corpus.code", "languages.toml")
    found = {}
    for name, table in tables.items():
        kinds = tables[table.get("like", name)]
        found[name] = Language(
            name=name,
            files=tuple(table["files"]),
            grammar=table["grammar"],
            structural=table.get("structural"),
            units=kinds["units"],
            containers=kinds.get("containers", {}),
            wrappers=frozenset(kinds.get("wrappers", ())),
            attached=frozenset(kinds["attached"]),
        )
    return found


_CPP_HEADER = re.compile(
    r"^\s*(?:(?:class|namespace|template|using)\b|(?:public|private)\s*:)", re.MULTILINE
)


def language_of(path: str, text: str) -> str:
    """The language of a file: one that is cut by syntax, ``markdown`` or ``text``.

    The name decides, except that a ``.h`` with C++ in it is C++.

    >>> language_of("src/main.rs", ""), language_of("README.md", ""), language_of("Makefile", "")
    ('rust', 'markdown', 'text')
    >>> language_of("a.h", "struct a;"), language_of("a.h", "namespace a {}")
    ('c', 'cpp')
    """
    name = PurePosixPath(path).name
    by_file = _by_file()
    language = by_file.get(name) or by_file.get(PurePosixPath(path).suffix.lower()) or "text"
    return (
        "cpp" if language == "c" and path.endswith(".h") and _CPP_HEADER.search(text) else language
    )


def language_named(name: str) -> Language:
    """The record of a language that is cut by syntax.

    Raises:
        InputError: there is no such language.
    """
    found = languages().get(name.lower())
    if found is None:
        raise InputError(
            f"language {name!r} is not known; expected one of {', '.join(languages())}"
        )
    return found


def parser_of(name: str) -> Parser:
    """A new tree-sitter parser: one must not be used by two threads at once.

    Raises:
        MissingExtraError: the grammar's wheel is not installed.
    """
    tree_sitter = require("tree_sitter", extra="code", purpose=_PURPOSE)
    parser: Parser = tree_sitter.Parser(_grammar_of(name))
    return parser


@cache
def _grammar_of(name: str) -> Grammar:
    """What a parser of the language goes by; loaded once, never changed."""
    tree_sitter = require("tree_sitter", extra="code", purpose=_PURPOSE)
    module, _, function = languages()[name].grammar.partition(":")
    grammar = require(module, extra="code", purpose=_PURPOSE)
    loaded: Grammar = tree_sitter.Language(getattr(grammar, function)())
    return loaded


@cache
def _by_file() -> Mapping[str, str]:
    table = {file: lang.name for lang in languages().values() for file in lang.files}
    return table | dict.fromkeys((".md", ".markdown", ".mdx"), "markdown")
