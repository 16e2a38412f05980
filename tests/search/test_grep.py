"""Structural search: order, languages, and patterns that are no code."""

from __future__ import annotations

from pathlib import Path

import pytest

from fastrecall.errors import CorpusError, InputError
from fastrecall.search.grep import structural_search


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "b.rs").write_text("fn f() {\n    a.unwrap(); é(b.unwrap()).unwrap();\n}\n")
    (tmp_path / "a.rs").write_text("// x.unwrap()\nfn g() { x\n    .unwrap(); }\n")
    (tmp_path / "c.py").write_text("x = y.unwrap()\n")
    (tmp_path / ".gitignore").write_text("ignored/\n")
    (tmp_path / "ignored").mkdir()
    (tmp_path / "ignored" / "d.rs").write_text("fn f() { a.unwrap(); }\n")
    return tmp_path


def test_matches_come_in_file_line_column_order(tree: Path) -> None:
    found = structural_search("$X.unwrap()", tree, language="rust")
    assert [(m.path, m.line, m.column, m.text) for m in found] == [
        ("a.rs", 2, 10, "x\n    .unwrap()"),
        ("b.rs", 2, 5, "a.unwrap()"),
        ("b.rs", 2, 17, "é(b.unwrap()).unwrap()"),
        ("b.rs", 2, 19, "b.unwrap()"),
    ]
    assert found == structural_search("$X.unwrap()", tree, language="rust")


def test_every_file_is_searched_in_its_own_language(tree: Path) -> None:
    assert [m.path for m in structural_search("$X.unwrap()", tree)][-1] == "c.py"
    assert [m.path for m in structural_search("fn $F() { $$$ }", tree)] == ["a.rs", "b.rs"]


def test_one_file_can_be_searched(tree: Path) -> None:
    file = tree / "c.py"
    assert [m.path for m in structural_search("$X = $Y", file)] == [file.as_posix()]
    (tree / "x.bin").write_bytes(b"\0")
    with pytest.raises(InputError, match="cannot be searched: binary"):
        structural_search("$X", tree / "x.bin")


@pytest.mark.parametrize(
    ("pattern", "language", "message"),
    [
        ("", None, "the pattern is empty"),
        ("foo(", None, r"pattern 'foo\(' cannot be searched as rust: it has a syntax error"),
        ("$A; $B", "python", r"as python: Multiple AST nodes .*`\$A; \$B`; write one whole"),
        ("foo(", "go", "as go: it has a syntax error"),  # no Go file in the tree, told all the same
        ("foo()", "klingon", "language 'klingon' is not known; expected one of rust, python"),
    ],
)
def test_a_pattern_that_is_no_code_is_refused(
    tree: Path, pattern: str, language: str | None, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        structural_search(pattern, tree, language=language)


def test_a_missing_folder_is_named(tree: Path) -> None:
    with pytest.raises(CorpusError, match="nowhere does not exist"):
        structural_search("f()", tree / "nowhere")
