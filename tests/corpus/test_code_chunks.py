"""How files are cut: every line once, units whole, doc comments with what they describe."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from fastrecall.corpus.code import ChunkSizes, CodeChunk, chunk_file
from fastrecall.corpus.code.languages import language_named, language_of, languages, parser_of
from fastrecall.errors import InputError

SMALL = ChunkSizes(largest=300, target=150, small=20, tiny=22)


def symbols(chunks: list[CodeChunk]) -> list[tuple[int, int, tuple[str, ...]]]:
    return [(chunk.start, chunk.end, chunk.symbols) for chunk in chunks]


def assert_each_line_is_in_one_chunk(text: str, chunks: list[CodeChunk]) -> None:
    rows = text.split("\n")
    seen = [number for chunk in chunks for number in range(chunk.start, chunk.end + 1)]
    assert len(seen) == len(set(seen))
    assert {number for number, row in enumerate(rows, 1) if row.strip()} <= set(seen)
    assert [chunk.start for chunk in chunks] == sorted(chunk.start for chunk in chunks)
    for chunk in chunks:
        assert chunk.text == "\n".join(rows[chunk.start - 1 : chunk.end])


RUST = """\
use std::io;
use std::fs;

/// Where things are kept.
#[derive(Debug)]
pub struct Store {
    path: String,
}

impl Store {
    /// Opens the store.
    #[inline]
    pub fn open(path: &str) -> Self {
        Store { path: path.to_string() }
    }

    pub fn close(self) {
        drop(self.path);
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        println!("{}", self.path);
    }
}
"""


def test_rust_methods_carry_their_impl_and_keep_comments_and_attributes() -> None:
    assert symbols(chunk_file("src/store.rs", RUST, sizes=SMALL)) == [
        (1, 2, ()),
        (4, 8, ("struct Store",)),
        (10, 15, ("impl Store > fn open",)),
        (17, 20, ("impl Store > fn close",)),
        (22, 26, ("impl Drop for Store > fn drop",)),
    ]


PYTHON = '''\
import os

LIMIT_OF_TRIES = 3


# How often.
@cache
def retry(times):
    """Try again."""
    return times - 1


class Store:
    """Where things are kept."""

    size = 0

    @property
    def path(self):
        return os.fspath(self.size)

    async def close(self):
        await self.flush(really=True)
'''


def test_python_decorators_and_comments_stay_with_the_function() -> None:
    assert symbols(chunk_file("store.py", PYTHON, sizes=SMALL)) == [
        (1, 3, ()),
        (6, 10, ("def retry",)),
        (13, 16, ("class Store",)),
        (18, 20, ("class Store > def path",)),
        (22, 23, ("class Store > def close",)),
    ]


UNITS = {
    "function find": ("a.c", "int *find(int n)\n{\n  return table + n + offset;\n}\n"),
    "struct point": (
        "a.h",
        "#ifndef A\n#define A\nstruct point { int first; int second; };\n#endif\n",
    ),
    "namespace db > class Store": (
        "a.cpp",
        "namespace db {\ntemplate <class T>\nclass Store {\n void open_file();\n};\n}\n",
    ),
    "function Store::open": (
        "b.cpp",
        "void Store::open(const char* path) {\n  file_ = fopen(path, mode);\n}\n",
    ),
    "function at": ("c.cpp", "const Row& at(int n) {\n  return rows_[n + offset_ + 1];\n}\n"),
    "class Table > function size": (
        "b.h",
        "class Table {\n public:\n  int size() const { return rows_ + offset_ + 1; }\n};\n",
    ),
    "func Store.Open": (
        "a.go",
        "package a\n\nfunc (s *Store) Open(path string) error {\n\treturn s.open(path)\n}\n",
    ),
    "type Store": ("b.go", "package a\n\ntype Store struct {\n\tpath string\n\tsize int\n}\n"),
    "class Store > method open": (
        "A.java",
        "class Store {\n  /** Opens. */\n  @Override\n  void open(Path path) { keep(path); }\n}\n",
    ),
    "function open": ("a.js", "export function open(path) {\n  return fs.openSync(path);\n}\n"),
    "const open": ("b.js", "export const open = (path) => {\n  return fs.openSync(path);\n};\n"),
    "interface Store": (
        "a.ts",
        "export interface Store {\n  path: string;\n  size: number;\n}\n",
    ),
    "function App": (
        "a.tsx",
        "export function App(): Element {\n  return <div className='x'>{name}</div>;\n}\n",
    ),
}


@pytest.mark.parametrize("symbol", UNITS)
def test_each_language_names_its_units(symbol: str) -> None:
    path, text = UNITS[symbol]
    chunks = chunk_file(path, text, sizes=SMALL)
    assert_each_line_is_in_one_chunk(text, chunks)
    assert symbol in {found for chunk in chunks for found in chunk.symbols}


def test_a_large_function_is_split_between_statements() -> None:
    body = "".join(f"    let value_{n} = compute(value_{n - 1}, {n});\n" for n in range(1, 40))
    text = f"fn long(value_0: i32) {{\n{body}}}\n"
    chunks = chunk_file("a.rs", text, sizes=SMALL)
    assert_each_line_is_in_one_chunk(text, chunks)
    assert len(chunks) > 5
    assert {chunk.symbols for chunk in chunks} == {("fn long",)}
    assert max(len(chunk.text) for chunk in chunks) <= 2 * SMALL.largest
    assert all(chunk.end > chunk.start for chunk in chunks), "no lone brace at the end"


def test_a_large_statement_is_split_inside() -> None:
    arms = "".join(f"        {n} => {{ handle_case_number({n}); }}\n" for n in range(60))
    text = f"fn pick(n: i32) {{\n    match n {{\n{arms}        _ => {{}}\n    }}\n}}\n"
    chunks = chunk_file("a.rs", text, sizes=SMALL)
    assert_each_line_is_in_one_chunk(text, chunks)
    assert len(chunks) > 5


def test_nesting_deeper_than_the_stack_is_cut_by_lines() -> None:
    text = "fn f() {\n" + "if a {\n" * 3000 + "x();\n" + "}\n" * 3000 + "}\n"
    assert_each_line_is_in_one_chunk(text, chunk_file("a.rs", text, sizes=SMALL))


def test_broken_code_is_still_covered() -> None:
    text = "fn ok() { one_call(); two_calls(); }\n\nfn broken( {{{\n let x = ;\n" * 20
    assert_each_line_is_in_one_chunk(text, chunk_file("a.rs", text, sizes=SMALL))


@pytest.mark.parametrize(
    "suffix", [".rs", ".py", ".c", ".cpp", ".go", ".java", ".js", ".ts", ".tsx"]
)
def test_any_text_is_covered_whatever_the_language(suffix: str) -> None:
    pieces = [
        RUST,
        PYTHON,
        "/* c */ int a; int b;\n",
        "}\n",
        "{\n",
        "\n\n",
        "\t\n",
        "#if X\n",
        "é = 'ж'\n",
    ]
    for seed in range(25):
        picked = random.Random(seed).choices(pieces, k=12)
        text = "".join(picked)
        assert_each_line_is_in_one_chunk(text, chunk_file(f"a{suffix}", text, sizes=SMALL))


def test_several_items_on_one_line_stay_together() -> None:
    text = "int a; int b;\nint c;\n"
    assert symbols(chunk_file("a.c", text)) == [(1, 2, ())]
    text = "fn a() { first(); } fn b() {\n    second();\n}\n"
    assert symbols(chunk_file("a.rs", text)) == [(1, 3, ("fn a", "fn b"))]


def test_markdown_is_cut_by_headings_outside_fences() -> None:
    text = (
        "Intro text that stands before any heading of the page.\n\n"
        "# Guide\n\nWords about the guide, and why it was written at all.\n\n"
        "```sh\n# not a heading, only a comment in a shell script\n```\n\n"
        "## Install\n\nRun the installer, then look at what it has done.\n\n"
        "Usage\n=====\n\nCall it from the command line with a file name.\n"
    )
    sizes = ChunkSizes(largest=300, target=60, small=20, tiny=5)
    chunks = chunk_file("a.md", text, sizes=sizes)
    assert_each_line_is_in_one_chunk(text, chunks)
    assert [chunk.symbols for chunk in chunks] == [
        (),
        ("Guide",),
        ("Guide > Install",),
        ("Usage",),
    ]


def test_other_files_become_windows_that_end_at_blank_lines() -> None:
    text = "".join(f"[section{n}]\nkey = {n}\nother = 'value {n}'\n\n" for n in range(40))
    chunks = chunk_file("a.toml", text, sizes=SMALL)
    assert_each_line_is_in_one_chunk(text, chunks)
    assert all(chunk.text.startswith("[section") for chunk in chunks)
    assert all(len(chunk.text) <= SMALL.largest for chunk in chunks)


def test_language_comes_from_the_name() -> None:
    assert language_of("x/Y.HPP", "") == "cpp"
    assert language_of("Dockerfile", "") == "text"
    with pytest.raises(InputError, match="language 'klingon' is not known; expected one of rust,"):
        language_named("klingon")


@pytest.mark.parametrize("name", list(languages()))
def test_every_listed_node_kind_exists_in_its_grammar(name: str) -> None:
    grammar = parser_of(name).language
    assert grammar is not None
    kinds = {grammar.node_kind_for_id(number) for number in range(grammar.node_kind_count)}
    listed = languages()[name]
    used = {*listed.units, *listed.containers, *listed.wrappers, *listed.attached}
    assert used <= kinds


def test_the_project_itself_is_covered() -> None:
    root = Path(__file__).parents[2]
    for file in sorted(root.glob("python/**/*.py")):
        text = file.read_text(encoding="utf-8")
        if text.strip():
            assert_each_line_is_in_one_chunk(text, chunk_file(file.name, text))
