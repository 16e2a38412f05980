"""How a pull request says which issue it closes, and which spellings each link source reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

REPO = "demo/lattice"
"""The made-up repository."""


@dataclass(frozen=True, slots=True)
class Form:
    """One way to name a closed issue: its text, where it stands, and who understands it.

    ``published`` and ``github`` say whether those two link sources read it from a body.
    """

    text: str
    published: bool = False
    github: bool = False
    place: Literal["body", "title", "sidebar"] = "body"


PLAIN = tuple(
    Form(f"{words} #{{n}}{end}", published=True, github=True)
    for words, end in [
        ("Closes", ""), ("Closes", "."), ("closes", ""), ("Closed", "."), ("close", ""),
        ("Fixes", ""), ("Fixes", "."), ("fixes", ""), ("Fix", "."), ("fixed", ""), ("FIXES", ""),
        ("Resolves", ""), ("resolves", "."), ("Resolved", ""), ("resolve", ""),
        ("This should fix", "."), ("Partly fixes", "."),
    ]
)  # fmt: skip
"""Spellings that everybody reads."""

LOOSE = tuple(
    Form(text, published=True)
    for text in [
        "Fixing #{n}", "Closing #{n} with this.", "resolving #{n}", "`Fixes #{n}`",
        "> This would fix #{n}", "<!-- closes #{n} -->", "```\ngit log --grep 'fixes #{n}'\n```",
    ]
)  # fmt: skip
"""Only the published expression reads these: other verb forms, and masked text."""

STRICT = tuple(
    Form(text, github=True)
    for text in [
        "Fixes: #{n}", "CLOSES: #{n}", f"Closes {REPO}#{{n}}", "Resolves GH-{n}",
        f"Fixes https://github.com/{REPO}/issues/{{n}}",
    ]
)  # fmt: skip
"""Only GitHub's own grammar reads these."""

IN_TITLE = (Form("{title} (fixes #{n})", place="title"), Form("Fix #{n}: {title}", place="title"))
SIDEBAR = Form("", place="sidebar")
"""Linked by hand: the text says nothing, the data does."""

MENTIONS = (
    "See #{n}.", "Part of #{n}.", "Related to #{n}.", "Follows the talk in #{n}", "Закрывает #{n}",
)  # fmt: skip
"""Names an issue without closing it, for every source."""

ADDRESS = f"Issue: https://github.com/{REPO}/issues/{{n}}"
"""The commonest link of some projects: an address without a keyword."""

LOOKALIKES = ("Fixes LAT-{n}.", "Uses fixture #{n}.", "Closes #{n}, which went another way.")
"""Looks like closing an issue; the number is that of a pull request."""
