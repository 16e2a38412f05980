"""Dates as people write them in filters."""

from __future__ import annotations

import re
from datetime import datetime, timezone

from fastrecall.errors import InputError

_DATE = re.compile(r"(\d{4})(?:-(\d{1,2}))?(?:-(\d{1,2}))?")


def first_second(text: str) -> int:
    """Where a day, month or year begins, in seconds since 1970 UTC.

    Raises:
        InputError: not a date.

    >>> first_second("1970-01-02"), first_second("1971")
    (86400, 31536000)
    """
    return _span(text)[0]


def past_end(text: str) -> int:
    """The first second after a day, month or year.

    Raises:
        InputError: not a date.

    >>> past_end("1970-01-01"), past_end("1970-12"), past_end("1970")
    (86400, 31536000, 31536000)
    """
    return _span(text)[1]


def day_of(moment: int) -> str:
    """The day of a moment, as it is printed.

    >>> day_of(86400)
    '1970-01-02'
    """
    return datetime.fromtimestamp(moment, timezone.utc).strftime("%Y-%m-%d")


def _span(text: str) -> tuple[int, int]:
    match = _DATE.fullmatch(text.strip())
    try:
        assert match is not None
        year, month, day = (int(part) if part else None for part in match.groups())
        assert year is not None
        start = _second(year, month or 1, day or 1)
        if day:
            return start, start + 86400
        if month:
            return start, _second(year + month // 12, month % 12 + 1, 1)
        return start, _second(year + 1, 1, 1)
    except (AssertionError, ValueError):
        raise InputError(
            f"{text!r} is no date; expected YYYY-MM-DD, YYYY-MM or YYYY, such as 2024-05-31"
        ) from None


def _second(year: int, month: int, day: int) -> int:
    return int(datetime(year, month, day, tzinfo=timezone.utc).timestamp())
