"""Filling the frames of the word lists, and keeping titles apart."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta

from fastrecall.corpus.demo.dice import Dice

_HEX = "0123456789abcdef"
_WORD_WITHOUT_DIGIT = re.compile(r"(?<!\w)[^\W\d]+(?!\w)")
_EPOCH = datetime(1970, 1, 1)  # all times here are UTC
_THREE_YEARS = (datetime(2023, 1, 2) - _EPOCH).days, 3 * 365

TRIES = 6
"""How often a title is drawn again before it gets a name to set it apart."""
CRLF_SHARE = 0.25
"""Share of bodies written in a browser, with CRLF line ends."""


def title_key(title: str) -> str:
    """What remains of a title without case, punctuation and words that hold a digit.

    >>> title_key("[stable-24.1] Bind the Page cache (#12)")
    'stablebindthepagecache'
    """
    return "".join(_WORD_WITHOUT_DIGIT.findall(title)).casefold()


def sentence(text: str) -> str:
    """*text* with a capital first letter."""
    return text[:1].upper() + text[1:]


class Pen:
    """Writes with chance: fills slots, and never gives two tickets the same title by accident."""

    def __init__(self, dice: Dice, nodes: int) -> None:
        self.dice = dice
        self._keys: set[str] = set()
        self._slots: dict[str, Callable[[], object]] = {
            "count": lambda: dice.between(2, 99),
            "ticket": lambda: dice.between(1000, 99999),
            "version": lambda: f"24.{dice.between(1, 4)}.{dice.below(20)}",
            "older": lambda: f"23.{dice.between(1, 4)}.{dice.below(20)}",
            "host": lambda: f"{dice.codename(2)}-{dice.between(1, 40)}",
            "day": self._day,
            "hash": self._hash,
            "foreign": lambda: nodes + dice.between(1, 40_000),
        }

    def fill(self, frame: str, **given: object) -> str:
        """*frame* with its slots filled: the given ones, and by chance numbers, versions, hosts."""
        return frame.format_map(_Slots(self._slots, given)) if "{" in frame else frame

    def title(self, draw: Callable[[], str]) -> str:
        """A title that no other ticket has, numbers and versions aside.

        *draw* is asked a few times; then the name of a made-up cluster sets the title apart.
        """
        for _ in range(TRIES):
            title = draw()
            if self.claim(title):
                return title
        longer = title
        while not self.claim(longer):
            longer = f"{title} on {self.dice.codename(4)}"
        return longer

    def claim(self, title: str) -> bool:
        """Whether *title* was still free; it no longer is."""
        key = title_key(title)
        if key in self._keys:
            return False
        self._keys.add(key)
        return True

    def with_line_ends(self, body: str) -> str:
        """*body*, in some cases with the line ends of a browser."""
        return body.replace("\n", "\r\n") if self.dice.chance(CRLF_SHARE) else body

    def _day(self) -> str:
        first, days = _THREE_YEARS
        return gh_time((first + self.dice.below(days)) * 86_400)[:10]

    def _hash(self) -> str:
        """Ten hex digits with a letter and a digit among them, as no word and no number is."""
        dice = self.dice
        return "c" + "".join(dice.pick(_HEX) for _ in range(8)) + str(dice.below(10))


class _Slots(dict[str, object]):
    """The given slots, and the others made when they are asked for."""

    def __init__(self, makers: dict[str, Callable[[], object]], given: dict[str, object]) -> None:
        super().__init__(given)
        self._makers = makers

    def __missing__(self, slot: str) -> object:
        return self._makers[slot]()


def gh_time(seconds: int) -> str:
    """The time as ``gh`` writes it.

    >>> gh_time(1_672_652_400)
    '2023-01-02T09:40:00Z'
    """
    return f"{(_EPOCH + timedelta(seconds=seconds)).isoformat()}Z"
