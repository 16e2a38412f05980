"""Sequences of what is made, or read, when it is asked for."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TypeVar, overload

Item = TypeVar("Item", covariant=True)


class OnDemand(Sequence[Item]):
    """A sequence whose items `item` makes, one by one; a slice of it is a list.

    >>> class Squares(OnDemand[int]):
    ...     def __len__(self):
    ...         return 4
    ...     def item(self, at):
    ...         return at * at
    >>> Squares()[-1], Squares()[1:3], list(Squares())
    (9, [1, 4], [0, 1, 4, 9])
    """

    @abstractmethod
    def item(self, at: int) -> Item:
        """The item at a place from 0 to before the end."""

    @overload
    def __getitem__(self, at: int) -> Item: ...
    @overload
    def __getitem__(self, at: slice) -> list[Item]: ...
    def __getitem__(self, at: int | slice) -> Item | list[Item]:
        places = range(len(self))[at]
        return self.item(places) if isinstance(places, int) else list(map(self.item, places))
