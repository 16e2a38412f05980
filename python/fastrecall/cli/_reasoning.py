"""Options of the reasoning step, and the reasoner that they and the settings file ask for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from fastrecall.cli._config import config_file
from fastrecall.cli._kinds import Place
from fastrecall.cli._options import stack
from fastrecall.errors import InputError

if TYPE_CHECKING:
    from fastrecall.search.reasoning import Fusion, Reasoner

FUSIONS = ("weighted", "pure")
ON_ERROR = ("keep", "fail")

replay_option = click.option(
    "--replay",
    "replay_file",
    type=Place(path_type=Path),
    help="Answer from such a file: no server, no key, the same bytes.",
)

reasoning_options = stack(
    click.option(
        "--reasoning/--no-reasoning",
        default=None,
        help="Let a language model reorder the best candidates; its settings are "
        "[search.reasoning].  [default: what `enabled` says there]",
    ),
    click.option(
        "--fusion",
        type=click.Choice(FUSIONS),
        help="How the model's order counts: fused with the hybrid order, or alone, which loses "
        "what the model does not list.  [default: weighted]",
    ),
    click.option(
        "--on-rerank-error",
        type=click.Choice(ON_ERROR),
        help="When a call fails for good: keep the hybrid order and count it, or stop.  "
        "[default: keep]",
    ),
    click.option(
        "--record",
        "record_file",
        type=Place(path_type=Path),
        help="Write all exchanges with the model to this file.",
    ),
    replay_option,
)


@contextmanager
def opened_reasoner(
    *,
    reasoning: bool | None,
    fusion: Fusion | None,
    on_rerank_error: Literal["keep", "fail"] | None,
    record_file: Path | None,
    replay_file: Path | None,
    cache: bool,
) -> Iterator[Reasoner | None]:
    """The reasoner, closed at the end; None when nothing asks for it.

    Whoever gives an option of the reasoning step asks for it.
    """
    settings = config_file().config.reasoning
    given = {
        "--fusion": fusion,
        "--on-rerank-error": on_rerank_error,
        "--record": record_file,
        "--replay": replay_file,
    }
    named = [name for name, value in given.items() if value is not None]
    if reasoning is False and named:
        raise InputError(f"{named[0]} needs the reasoning step; leave out --no-reasoning")
    if reasoning is False or not (reasoning or named or settings.enabled):
        yield None
        return
    from fastrecall.search.reasoning import Reasoner

    reasoner = Reasoner(
        settings,
        fusion=fusion or "weighted",
        on_error=on_rerank_error or "keep",
        cache=cache,
        record=record_file,
        replay=replay_file,
    )
    try:
        yield reasoner
    finally:
        reasoner.close()
