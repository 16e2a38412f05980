"""README shows what the main job really prints, and its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import fastrecall as fr

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_demo_prints_what_readme_shows() -> None:
    shown = next(block for block in README.split("```") if "own issue ranked first" in block)
    # A page of 98 columns leaves out the milliseconds, which differ from run to run.
    printed = fr.evaluate(fr.load_corpus("demo")).table(width=98)
    shown_lines, printed_lines = shown.strip().splitlines(), printed.strip().splitlines()
    assert [_words(line) for line in shown_lines] == [_words(line) for line in printed_lines]
    for one, other in zip(shown_lines, printed_lines, strict=True):
        # Another processor may round a vector's last bit, and a near-tie then falls the other way.
        assert _numbers(one) == pytest.approx(_numbers(other), abs=1.0, rel=0.05), other


def _words(line: str) -> list[str]:
    return re.findall(r"[A-Za-z+]{2,}", line)


def _numbers(line: str) -> list[float]:
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", line.replace(",", ""))]


@pytest.mark.parametrize(
    "page", ["README.md", *sorted(p.name for p in (ROOT / "docs").glob("*.md"))]
)
def test_links_lead_to_files(page: str) -> None:
    path = ROOT / page if page == "README.md" else ROOT / "docs" / page
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", path.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (path.parent / target).exists(), f"{page} links to {target}"


def test_every_command_has_its_place_in_readme() -> None:
    from fastrecall.cli.app import COMMANDS

    rows = [line.split("|")[1] for line in README.splitlines() if line.startswith("| `")]
    told = re.findall(r"`([a-z-]+)`", " ".join(rows))
    assert sorted([*told, "fetch"]) == sorted(COMMANDS)
