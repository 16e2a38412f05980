"""How numbers are written: one form for shares, intervals, p-values and counts."""

from __future__ import annotations

from collections.abc import Sequence


def percent(share: float) -> str:
    """A share as people read it.

    >>> percent(94 / 293)
    '32.1 %'
    """
    return f"{100 * share:.1f} %"


def interval(bounds: Sequence[float]) -> str:
    """The bounds of an interval of shares, in per cent.

    >>> interval((0.269986, 0.376290))
    '[27.0–37.6]'
    """
    low, high = bounds
    return f"[{100 * low:.1f}–{100 * high:.1f}]"


def bounds(interval: Sequence[float | None]) -> str:
    """An interval of a mean, to two places; one query alone has none.

    >>> bounds((0.5, 0.756)), bounds((None, None))
    ('0.50–0.76', '–')
    """
    low, high = interval
    return "–" if low is None or high is None else f"{low:.2f}–{high:.2f}"


def share(rate: float, bounds: Sequence[float]) -> str:
    """A share with its interval.

    >>> share(277 / 293, (0.913146, 0.966111))
    '94.5 % [91.3–96.6]'
    """
    return f"{percent(rate)} {interval(bounds)}"


def points(difference: float, bounds: Sequence[float] | None = None) -> str:
    """A difference of shares in percentage points, with its interval.

    >>> points(0.6246, (0.56, 0.68))
    '+62.5 points [+56.0, +68.0]'
    """
    text = f"{100 * difference:+.1f} points"
    if bounds is None:
        return text
    return f"{text} [{100 * bounds[0]:+.1f}, {100 * bounds[1]:+.1f}]"


def p_value(p: float) -> str:
    """A p-value, never printed as zero.

    >>> p_value(0.5), p_value(0.0469), p_value(0.00123), p_value(3e-41)
    ('p = 0.50', 'p = 0.047', 'p = 0.0012', 'p = 3e-41')
    """
    if p >= 0.1:
        return f"p = {p:.2f}"
    if p >= 0.0001:
        return f"p = {p:.2g}"
    return f"p = {p:.0e}"


def count(number: int) -> str:
    """A count with thousands set apart.

    >>> count(37067)
    '37,067'
    """
    return f"{number:,}"


def plural(number: int, noun: str, many: str | None = None) -> str:
    """A count with its noun.

    >>> plural(1, "issue"), plural(2, "issue"), plural(2, "query", "queries")
    ('1 issue', '2 issues', '2 queries')
    """
    return f"{count(number)} {noun if number == 1 else many or noun + 's'}"


def sentence(text: str) -> str:
    """Text that begins with a capital; the rest stays as it is.

    >>> sentence("links lead to other PRs")
    'Links lead to other PRs'
    """
    return text[:1].upper() + text[1:]


def setting(value: object) -> str:
    """A setting's value in words; one that was left open is "default".

    >>> setting(["github", "title"]), setting(False), setting(None), setting(32)
    ('github, title', 'no', 'default', '32')
    """
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "default" if value is None else str(value)
