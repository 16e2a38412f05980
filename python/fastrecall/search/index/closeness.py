"""How near a question must be to something before an answer is more than an invention.

The corpus itself tells: its own titles are asked, each without its own ticket, and what is nearest
to them shows how near related tickets lie with this model in this corpus. A question that is
farther from everything than nearly all of them gets no answer from vectors.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fastrecall.search import tokens
from fastrecall.types import Ids, Scores

SAMPLE = 256
"""How many titles are asked."""

FAR_SHARE = 0.05
"""The share of these titles that would themselves be called far from everything."""


@dataclass(frozen=True)
class Closeness:
    """The least ``cosine`` of a close ticket, and how many titles it was read from."""

    cosine: float
    titles: int

    def as_dict(self) -> dict[str, Any]:
        """For the manifest."""
        return asdict(self)


def sampled(titled: Ids) -> Ids:
    """Nodes whose titles are asked: evenly spread over those that have one.

    >>> sampled(np.arange(1021, dtype=np.int32))[:3].tolist()
    [0, 4, 8]
    """
    if len(titled) <= SAMPLE:
        return titled
    return titled[np.linspace(0, len(titled) - 1, SAMPLE).astype(np.int64)]


def calibrated(nodes: Ids, ids: Ids, scores: Scores) -> Closeness:
    """The border, from the two nearest nodes ``[titles, 2]`` of the titles of *nodes*.

    >>> nodes, ids = np.array([0, 1], np.int32), np.array([[0, 1], [0, 1]], np.int32)
    >>> calibrated(nodes, ids, np.array([[1, 0.5], [0.5, 0.4]], np.float32)).cosine
    0.5
    """
    others = np.where(ids[:, 0] == nodes, scores[:, 1], scores[:, 0])
    others = others[np.isfinite(others)]
    if not len(others):  # one ticket: nothing to compare with
        return Closeness(0.0, 0)
    return Closeness(round(float(np.quantile(others, FAR_SHARE)), 4), len(others))


def names_in(question: str) -> list[str]:
    """The names in a question that say much by themselves, as index terms.

    Names of code, errors and versions: words with ``_``, ``::`` or digits among letters, and
    capitals only. A ticket that holds a rare one is close, whatever the vectors say.

    >>> names_in("TLS1.3: parse_header fails with ECONNRESET on 404 in Safari")
    ['tls1.3', 'parse_header', 'econnreset']
    """
    return [word.casefold() for word in tokens.words(question) if _is_name(word)]


def _is_name(word: str) -> bool:
    if not word.isascii() or not any(map(str.isalpha, word)):
        return False
    joined = "_" in word.strip("_") or "::" in word or any(map(str.isdigit, word))
    return joined or (len(word) > 4 and word.isupper())


def is_rare(holders: int, nodes: int) -> bool:
    """Whether a term that so many of the nodes hold tells them apart: at most one in a hundred.

    >>> is_rare(3, 50), is_rare(10, 1000), is_rare(11, 1000), is_rare(0, 9)
    (True, True, False, False)
    """
    return 0 < holders <= max(3, nodes // 100)
