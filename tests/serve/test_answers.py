"""Answers are short whatever they hold."""

from __future__ import annotations

import json
from dataclasses import asdict

from hypothesis import given
from hypothesis import strategies as st

from fastrecall.serve.answers import MOST_BYTES, Explained, Item, fitted, quoted, shortened, titled

SCRIPTS = ("x", "Ж", "死", "🔥", "\u202e", "\x00", '"', "\n", "\ud800")


def bytes_of(answer: object) -> int:
    text = json.dumps(asdict(answer), ensure_ascii=False, indent=2)  # type: ignore[call-overload]
    return len(text.encode("utf-8", "replace"))


@given(st.integers(0, 20), st.sampled_from(SCRIPTS), st.integers(0, 100_000))
def test_any_number_of_any_texts_fits(count: int, character: str, length: int) -> None:
    text = character * length
    items = [
        (Item(f"pr o/r#{at}", "pr", titled(text), "2024-05-31", "semantic 1, bm25 2"), text)
        for at in range(count)
    ]
    recalled = fitted(items, "")
    assert bytes_of(recalled) <= MOST_BYTES
    assert len(recalled.items) == count or "left out" in recalled.message
    assert len(recalled.items) >= min(count, 4)


@given(st.sampled_from(SCRIPTS), st.integers(0, 100_000))
def test_an_explanation_fits(character: str, length: int) -> None:
    text = character * length
    told = shortened(Explained("pr #1", "pr", titled(text), "2024-05-31", "", False), text)
    assert bytes_of(told) <= MOST_BYTES


def test_a_quote_is_one_marked_line_without_secrets_or_tricks() -> None:
    secret = "ghp_" + "a1B2" * 9
    quote = quoted(f"first\n\nsecond {secret} \u202ethird", 200)
    assert quote == "> first second [redacted: GitHub token] ‹U+202E›third"
    # The cut comes after the redaction, so that no half of a secret is left.
    assert secret[:10] not in quoted(f"{'x' * 20} {secret}", 35)
