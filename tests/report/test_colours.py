"""Colours of pages: texts and marks stand out (WCAG 2.1, 1.4.3 and 1.4.11)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import fastrecall.report

CSS = (Path(fastrecall.report.__file__).parent / "templates" / "page.css").read_text("utf-8")
LIGHT, DARK = (
    dict(re.findall(r"--([\w-]+): (#\w{6})", block)) for block in CSS.split("@media")[:2]
)
SERIES = ("semantic", "semantic-prs", "causal", "hybrid-causal", "best", "other")
TEXT = ("ink", "muted", "link", "causal")  # a miss is written in the colour of causal


def channels(colour: str) -> list[float]:
    return [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]


def contrast(one: list[float], other: list[float]) -> float:
    def luminance(colour: list[float]) -> float:
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("ground", ["page", "card"])
def test_texts_and_marks_stand_out(theme: dict[str, str], ground: str) -> None:
    below = channels(theme[ground])
    for name in TEXT:
        assert contrast(channels(theme[name]), below) >= 4.5, name
    assert contrast(channels(theme["ink"]), channels(theme["note"])) >= 4.5
    [opacity] = re.findall(r"\.bar \.range \{ fill: var\(--series\); opacity: ([\d.]+)", CSS)
    for name in SERIES:
        shown = [
            float(opacity) * mark + (1 - float(opacity)) * under
            for mark, under in zip(channels(theme[name]), below, strict=True)
        ]
        assert contrast(shown, below) >= 3, name
