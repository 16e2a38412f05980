"""The settings of one evaluation, checked, and written into its record as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches

from fastrecall.config import LARGEST_COUNT
from fastrecall.corpus.text import QUERY_MODES, QueryMode
from fastrecall.errors import InputError
from fastrecall.search.arms import ARMS, DEFAULT_ARMS, Reach
from fastrecall.types import LINK_SOURCES, LinkSource


@dataclass(frozen=True)
class Settings:
    """What an evaluation asks and how; every field stands in the record.

    ``budget`` nodes returned, ``seeds`` and ``depth`` of the causal walk, ``links`` the sources of
    closing links, ``query`` what of the issue is asked, ``neighbours`` of the similarity graph,
    ``seed`` of everything random.
    """

    protocols: tuple[str, ...]
    arms: tuple[str, ...] = DEFAULT_ARMS
    budget: int = 32
    seeds: int | None = None
    depth: int = 3
    undirected: bool = False
    links: tuple[LinkSource, ...] = ("published",)
    query: QueryMode = "title"
    neighbours: int = 16
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("budget", "depth", "neighbours"):
            _in_range(name, getattr(self, name))
        if self.seeds is not None:
            _in_range("seeds", self.seeds)
        for arm in self.arms:
            one_of("arm", arm, tuple(ARMS))
        for source in self.links:
            one_of("link source", source, LINK_SOURCES)
        one_of("query", self.query, QUERY_MODES)

    @property
    def titled(self) -> bool:
        """Whether the first line of a question is a title."""
        return self.query != "body"

    @property
    def reach(self) -> Reach:
        """What the arms need to know of the settings."""
        return Reach(self.budget, self.seeds, self.depth, self.undirected)

    def as_dict(self) -> dict[str, object]:
        """Plain values for the record."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}


def _in_range(name: str, value: int) -> None:
    if not 1 <= value <= LARGEST_COUNT:
        raise InputError(f"{name} is {value}; expected 1 to {LARGEST_COUNT:,}")


def one_of(what: str, value: str, known: Sequence[str]) -> str:
    """*value*, or an error that lists what is known and suggests the nearest.

    >>> one_of("query", "title", ("title", "body"))
    'title'
    """
    if value in known:
        return value
    near = get_close_matches(value, known, n=1)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    raise InputError(f"{what} '{value}' is unknown{hint} (known: {', '.join(known)})")
