"""Only what was there before: a duplicate's reporter asks the past."""

from __future__ import annotations

from dataclasses import replace

from fastrecall.search.existing import Past
from fastrecall.study.protocols import duplicates
from fastrecall.study.protocols.base import Asked, Case, Protocol


def ask(case: Case) -> Asked:
    """The questions of `duplicates`, in a memory that ends where the question was written."""
    asked = duplicates.ask(case)
    created_at = case.corpus.created_at
    return replace(asked, allowed=Past(created_at, created_at[asked.nodes]))


PROTOCOL = Protocol(
    "past-only",
    "past only",
    "as duplicates, and only what was created before the question exists",
    ask,
)
