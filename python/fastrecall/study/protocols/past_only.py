"""Only what was there before: a duplicate's reporter asks the past."""

from __future__ import annotations

from dataclasses import replace

from fastrecall.search.existing import Past
from fastrecall.study.protocols import duplicates
from fastrecall.study.protocols.base import Asked, Case, Protocol


def ask(case: Case) -> Asked:
    """The questions of `duplicates`, in a memory that ends where the question was written.

    Nodes of the same second do not exist yet. ``similar`` edges are those among all nodes, as far
    as both ends exist: neighbours are not looked for anew for each question.
    """
    asked = duplicates.ask(case)
    created_at = case.corpus.created_at
    return replace(asked, allowed=Past(created_at, created_at[asked.nodes]))


PROTOCOL = Protocol(
    "past-only",
    "past only",
    "as duplicates, and only what was created before the question exists",
    ask,
)
