"""The asked issue and its links do not exist: what a new symptom would find."""

from __future__ import annotations

from dataclasses import replace

from fastrecall.study.protocols.base import Asked, Case, Protocol, ask_pairs


def ask(case: Case) -> Asked:
    """All gold pairs; each question's own issue is removed for that question."""
    asked = ask_pairs(case, case.gold.pairs)
    return replace(asked, exclude=asked.nodes)


PROTOCOL = Protocol(
    "leave-one-out",
    "leave-one-out",
    "the asked issue and its links do not exist: the symptom is new",
    ask,
)
