"""Small tickets, records and corpora for tests."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fastrecall.corpus import make_corpus
from fastrecall.types import Corpus, Ticket

SHARED = Path(__file__).parents[2].parent / "shared" / "corpora"
"""Real corpora that lie beside the repository on some machines."""


def issue(number: int, title: str = "Crash", body: str = "", **fields: Any) -> Ticket:
    return Ticket(
        **{"repo": "", "kind": "issue", "number": number, "title": title, "body": body}
        | {"created_at": number}
        | fields
    )


def pr(number: int, title: str = "Change", body: str = "", **fields: Any) -> Ticket:
    return issue(number, title, body, **{"kind": "pr"} | fields)


def corpus(*tickets: Ticket) -> Corpus:
    return make_corpus(tickets, name="test")


def record(number: int, **fields: Any) -> dict[str, Any]:
    """A ticket in the form that ``gh`` prints."""
    return {
        "number": number,
        "createdAt": f"2024-05-{1 + number % 28:02d}T12:00:00Z",
        "author": {"login": "someone"},
        "title": f"Title {number}",
        "body": f"Body {number}",
    } | fields


def write_json(path: Path, records: Iterable[dict[str, Any]]) -> Path:
    path.write_text(json.dumps(list(records)), encoding="utf-8")
    return path
