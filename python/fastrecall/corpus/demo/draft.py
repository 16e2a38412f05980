"""A ticket before it is written: what it is about, what it answers, how it says so."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from fastrecall.corpus.demo.accounts import Account
from fastrecall.corpus.demo.links import Form
from fastrecall.corpus.demo.traces import FalseFriend, Trace
from fastrecall.corpus.demo.words import Component, Fault, Language

Role: TypeAlias = Literal[
    # issues
    "report", "terse", "wish", "flaky report", "regression", "series", "duplicate",
    # pull requests
    "fix", "continuation", "deflake", "mute", "work", "revert", "reapply", "backport", "chore",
]  # fmt: skip

Evidence: TypeAlias = Literal["text", "label", "state"]
EVIDENCE: tuple[Evidence, ...] = ("text", "text", "label", "state")
"""What shows a duplicate: the words ``Duplicate of #N`` in its body or in a comment; or a label
or the state reason, while a comment names the original in other words."""


@dataclass(slots=True, eq=False)
class Draft:
    """One planned ticket.

    ``origin`` is the ticket that this one reverts, reapplies, backports or duplicates. ``series``
    is the title frame that a group of near-identical titles shares, ``test`` the test that a flaky
    report and its answer speak of. ``time`` counts from the project's first day until tickets get
    their numbers, then from 1970; the texts come last.
    """

    role: Role
    is_pr: bool
    time: int
    language: Language
    component: Component
    fault: Fault
    thing: int
    account: Account
    closes: list[tuple[Draft, Form]] = field(default_factory=list)
    mentions: list[tuple[Draft, str]] = field(default_factory=list)
    origin: Draft | None = None
    series: str = ""
    test: str = ""
    trace: Trace | None = None
    friend: FalseFriend | None = None
    coauthor: Account | None = None
    base: str = "main"
    evidence: Evidence | None = None
    number: int = 0
    title: str = ""
    body: str | None = None
    comment: str = ""
    state: Literal["OPEN", "CLOSED", "MERGED"] = "OPEN"
    state_reason: str = ""
    ended: int | None = None
