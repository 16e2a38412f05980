"""Masking agrees with a full CommonMark parser on what is prose."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fastrecall.corpus.markdown import BARRIER, mask, mask_inline

WORD = re.compile(r"w\d+;")

# "w" becomes a numbered word. Deeply indented lines hold words only, and tabs stand only at the
# start of a line: there the parser of the oracle leaves CommonMark itself.
OPENINGS = ["", "", "", " ", "  ", "   ", "> ", "> ", ">", "- ", "- ", "* ", "1. ", "2. ", "10) ",
            "-", "# ", "## "]  # fmt: skip
CONTENTS = ["w", "w", "w `w` w", "w ``w` w`` w", "`w", "w`", "w ` w", "```", "````", "``` w", "~~~",
            "~~~ w", "<!-- w -->", "w <!-- w --> w", "<!--", "-->", "w --> w", "\\`w` w", "***",
            "---", "===", "", "", "w  ", "``w\\``", "#w", "w\r"]  # fmt: skip
LINES = st.builds(
    lambda openings, content: "".join(openings) + content,
    st.lists(st.sampled_from(OPENINGS), max_size=3),
    st.sampled_from(CONTENTS),
).filter(lambda line: len(line) - len(line.lstrip(" ")) < 4) | st.sampled_from(
    ["    w", "     w `w`", "\tw", "      w w"]
)


def words(text: str) -> list[str]:
    return WORD.findall(text)


@settings(deadline=None, max_examples=400)
@given(st.lists(LINES, min_size=1, max_size=7))
@example(["- w", "```", "w", "```", "w"])
@example(["> w", "w", "- w"])
@example(["<!--", "w", "", "w --> w"])
@example(["1. w", "", "       w", "", "    w"])
@example(["w", "    w", "", "    w"])
def test_masking_leaves_exactly_the_prose(lines: list[str]) -> None:
    pytest.importorskip("markdown_it")
    from tests.oracles.markdown import prose

    count = iter(range(1000))
    text = re.sub("w", lambda _: f"w{next(count)};", "\n".join(lines)) + "\n"
    masked = mask(text)
    assert len(masked) == len(text)
    assert all(a in (b, BARRIER) for a, b in zip(masked, text, strict=True))
    assert words(masked) == words(prose(text))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("plain w0;", ["w0;"]),
        ("a `w0;` w1;", ["w1;"]),
        ("```\r\nw0;\r\n```\r\nw1;\r\n", ["w1;"]),
        ("~~~ text\nw0;", []),
        ("> w0;\r\n> w1;\r\n\r\nw2;", ["w2;"]),
        ("> w0;\nw1; goes on in the quote\n\nw2;", ["w2;"]),
        ("<!-- w0;\n\nw1; -->w2;\nw3;", ["w2;", "w3;"]),
        ("text <!-- w0; --> w1;", ["w1;"]),
        ("text <!-- w0; without end", ["w0;"]),
        ("<!-- w0; without end\n\nw1;", []),
        ("`<!--` w0; -->", ["w0;"]),
        ("w0;\n\n    w1;\n\nw2;", ["w0;", "w2;"]),
        ("- w0;\n\n    w1;\n", ["w0;", "w1;"]),
        ("- w0;\n  ```\n  w1;\n  ```\n  w2;\n", ["w0;", "w2;"]),
        ("\\`w0;\\` w1;", ["w0;", "w1;"]),
        ("`w0; w1;", ["w0;", "w1;"]),
    ],
)
def test_what_counts_as_prose(text: str, left: list[str]) -> None:
    assert words(mask(text)) == left


def test_a_title_has_code_spans_only() -> None:
    assert words(mask_inline("> w0; `w1;`     w2;")) == ["w0;", "w2;"]
    assert words(mask_inline("    w0;")) == ["w0;"]


@pytest.mark.parametrize(
    "unit",
    ["`", "``` ", "`a``b", ">", "> ", "- ", "1. ", "<!--", "\\`", "```\n", "> ```\n", "-->", "\t",
     "    a\n", "- a\n", "#", "*\n", "`a\n", "~", "_ ", "= ", "\n", "a `"],
)  # fmt: skip
def test_a_hostile_megabyte_takes_linear_time(unit: str) -> None:
    start = time.process_time()
    mask(unit * (1_000_000 // len(unit)) + "`")
    assert time.process_time() - start < 10
