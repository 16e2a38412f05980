"""The differences between arms that a report tells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Block = Mapping[str, Any]


def told_gains(record: Block, protocol: str) -> list[Block]:
    """What following links brings under a protocol, and what a language model does.

    Where the symptom is new, links are also held against the honest baseline.
    """
    gain = record["gain"].get(protocol)
    if not gain:
        return []
    over_prs = gain["over_prs"] if protocol == "leave-one-out" else None
    return [one for one in (gain, over_prs, gain.get("reasoning")) if one]


def how_tested(record: Block) -> str:
    """What the p-values of differences are; "" where there is none.

    >>> how_tested({"gain": {"published": {"holm_p": 0.04, "over_prs": {"holm_p": 0.5}}}})
    "exact McNemar test, raised by Holm's method for 2 tested differences"
    """
    tested = sum(
        isinstance(one, Mapping) and "holm_p" in one
        for gain in record["gain"].values()
        for one in (gain, *gain.values())
    )
    if tested < 2:
        return "exact McNemar test" if tested else ""
    return f"exact McNemar test, raised by Holm's method for {tested} tested differences"
