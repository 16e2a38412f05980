"""Which nodes exist for each question, where these are many: marks are made some at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from fastrecall.types import Ids, Scores

MARKS_AT_ONCE = 1 << 27
"""Bytes of marks, one a node and question, that are held at a time."""

Marks: TypeAlias = npt.NDArray[np.bool_]
"""Which nodes exist, for some questions: ``[s, nodes]``."""

Search: TypeAlias = Callable[[slice, Marks], tuple[Ids, Scores]]
"""A search by some questions among the nodes that exist for each."""


class Existing(ABC):
    """The nodes that exist for each question."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """How many questions and nodes."""

    @abstractmethod
    def __getitem__(self, some: slice) -> Marks:
        """The marks of some questions."""

    def searched(self, search: Search) -> tuple[Ids, Scores]:
        """What *search* finds for all questions, asked some at a time."""
        questions, nodes = self.shape
        step = max(1, MARKS_AT_ONCE // max(1, nodes))
        # Where nobody asks, a search for nobody tells the shapes.
        parts = [slice(first, first + step) for first in range(0, max(1, questions), step)]
        found = [search(some, self[some]) for some in parts]
        return np.concatenate([ids for ids, _ in found]), np.concatenate([s for _, s in found])


@dataclass(frozen=True)
class Marked(Existing):
    """Marks ``[questions, nodes]`` that somebody made."""

    marks: Marks

    @property
    def shape(self) -> tuple[int, int]:
        """See `Existing`."""
        questions, nodes = self.marks.shape
        return questions, nodes

    def __getitem__(self, some: slice) -> Marks:
        return self.marks[some]


@dataclass(frozen=True, eq=False)
class Past(Existing):
    """For each question, the nodes created before a moment.

    ``created_at`` int64 ``[nodes]`` and ``before`` int64 ``[questions]`` are in seconds.

    >>> past = Past(np.array([1, 5, 9]), np.array([5, 6]))
    >>> past[0:2].tolist()
    [[True, False, False], [True, True, False]]
    """

    created_at: npt.NDArray[np.int64]
    before: npt.NDArray[np.int64]

    @property
    def shape(self) -> tuple[int, int]:
        """See `Existing`."""
        return len(self.before), len(self.created_at)

    def __getitem__(self, some: slice) -> Marks:
        marks: Marks = self.created_at[None, :] < self.before[some, None]
        return marks

    def same(self, other: Past) -> bool:
        """Whether the same nodes exist for the same questions."""
        return np.array_equal(self.before, other.before) and np.array_equal(
            self.created_at, other.created_at
        )
