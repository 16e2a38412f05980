"""Kinds of values that options and arguments take."""

from __future__ import annotations

import math
import os
from typing import Any

import click

from fastrecall.config import LARGEST_COUNT

COUNT = click.IntRange(1, LARGEST_COUNT)


class Place(click.Path):
    """A path; an empty one, which a shell makes of a variable that is not set, is refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path as it was given."""
        if not os.fspath(value):
            self.fail("it is empty; expected a path or a name", param, ctx)
        return super().convert(value, param, ctx)


class Fraction(click.FloatRange):
    """A number from 0 to 1, and a number indeed: a NaN lies within every range."""

    def __init__(self) -> None:
        super().__init__(0, 1)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number."""
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail("it is not a number", param, ctx)
        return number
