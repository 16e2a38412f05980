"""What a record says of the calls to a language model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from fastrecall.search.reasoning import Reasoner, Reranked, Tally


def reasoning_block(
    reasoner: Reasoner, reranked: Sequence[Reranked], *, top: int | None = None
) -> dict[str, Any]:
    """The settings, and calls, failures, tokens and cost; *top* is how many results were kept."""
    settings = asdict(reasoner.settings)
    tally = Tally.of(reranked)
    return {
        "settings": settings | ({} if top is None else {"final_top_k": top}),
        "fusion": reasoner.fusion,
        "calls": tally.calls,
        "failed": tally.failed,
        "failures": tally.failures,
        "cached": tally.cached,
        "input_tokens": tally.input_tokens,
        "output_tokens": tally.output_tokens,
        "cost": tally.cost,
        "sentence": str(tally),
    }
