"""Chance that repeats: the same seed gives the same draws on every platform and Python version."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

_SYLLABLES = (
    *("ba", "ro", "mi", "ten", "vo", "ka", "lu", "sha", "ner", "po", "ti", "gor"),
    *("wen", "ya", "zu", "mar", "ol", "fi", "hem", "dra", "su", "pel", "ja", "kri"),
)


class Dice:
    """Draws made from `random.Random.random` alone.

    That method's sequence is the only one that Python promises to keep; ``choice``, ``randrange``
    and ``shuffle`` may change between versions.

    >>> dice = Dice(7)
    >>> [dice.below(6) for _ in range(8)]
    [1, 0, 3, 0, 3, 2, 0, 3]
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed).random

    def below(self, bound: int) -> int:
        """A whole number from 0 to *bound* - 1."""
        return int(self._random() * bound)

    def between(self, low: int, high: int) -> int:
        """A whole number from *low* to *high*, both included."""
        return low + int(self._random() * (high - low + 1))

    def chance(self, share: float) -> bool:
        """True in that *share* of draws."""
        return self._random() < share

    def pick(self, items: Sequence[T]) -> T:
        """One of *items*."""
        return items[int(self._random() * len(items))]

    def early(self, bound: int) -> int:
        """A whole number below *bound*, small ones far likelier: how long things take."""
        draw = self._random()
        return int(draw * draw * draw * bound)

    def shuffle(self, items: list[T]) -> None:
        """Put *items* into another order, in place."""
        for last in range(len(items) - 1, 0, -1):
            other = int(self._random() * (last + 1))
            items[last], items[other] = items[other], items[last]

    def codename(self, syllables: int) -> str:
        """A word that means nothing, such as the name of a machine: ``maroka``."""
        return "".join([self.pick(_SYLLABLES) for _ in range(syllables)])
