"""The rows of the table of goals, by what they have in common.

A group opens its data and contenders once and then measures any of its rows. `GROUPS` lists all of
them in the order in which they are measured: short ones first, so that a stop loses little.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from harness.pool import Pool
from harness.results import Measurement


@dataclass(frozen=True)
class Settings:
    """What a run was asked for."""

    quick: bool
    threads: int
    fp32: str | None = None
    st_model: str | None = None
    st_python: str | None = None

    @property
    def thread_counts(self) -> list[int]:
        return [1, 2] if self.threads > 1 else [1]

    def size(self, full: int, quick: int) -> int:
        return quick if self.quick else full


@dataclass
class Opened:
    """A group that is ready: `measure` takes the name of a row."""

    measure: Callable[[str], list[Measurement]]
    pool: Pool | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def processes(self) -> list[int]:
        return self.pool.processes if self.pool else []

    @property
    def absent(self) -> dict[str, str]:
        return self.pool.absent if self.pool else {}


class Group(Protocol):
    """Some rows over the same data; `minutes` says how long each takes on two idle cores."""

    minutes: dict[str, float]

    def prepare(self, settings: Settings) -> None:
        """Make data that takes long, once."""

    def open(self, settings: Settings) -> AbstractContextManager[Opened]: ...
