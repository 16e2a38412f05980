"""How well each ticket fits a question: nearness in meaning and in words, as standard scores.

Standard scores are taken within issues and within PRs, for each kind is written in its own way.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

TITLE_WEIGHT = 0.5
"""The title asked alone, beside title and body together at 1: flat from 0.25 to 1."""

WORDS_WEIGHT = 0.6
"""Evidence of words beside evidence of meaning: flat from 0.3 to 1."""

_LEAST_DEVIATION = 1e-4
"""Where nodes differ by less they are alike, and the difference is rounding."""

Floats: TypeAlias = npt.NDArray[np.float64]
Places: TypeAlias = npt.NDArray[np.int64]


def meaning_of(cosines: Floats, prs: int, gone: Places) -> Floats:
    """How near in meaning each node is ``[q, n]``, from *cosines* ``[t, q, n]``, overwritten.

    Of the nodes the first *prs* are PRs; *gone* ``[q]`` do not exist.
    """
    meaning: Floats = cosines[-1]
    for kind, missing in _kinds(cosines.shape[2], prs, gone):
        for scores in cosines[:, :, kind]:
            _standardize(scores, missing)
        if len(cosines) > 1:
            meaning[:, kind] += TITLE_WEIGHT * cosines[0][:, kind]
    return meaning


def evidence_of(meaning: Floats, words: Floats, prs: int, gone: Places) -> Floats:
    """How well each node fits ``[q, n]``, in standard deviations; -inf for the node that is gone.

    *meaning* and *words* ``[q, n]`` are overwritten.
    """
    for kind, missing in _kinds(meaning.shape[1], prs, gone):
        _standardize(words[:, kind], missing)
        meaning[:, kind] += WORDS_WEIGHT * words[:, kind]
        _standardize(meaning[:, kind], missing)
    rows = np.flatnonzero(gone >= 0)
    meaning[rows, gone[rows]] = -np.inf
    return meaning


def _kinds(nodes: int, prs: int, gone: Places) -> Iterator[tuple[slice, tuple[Places, Places]]]:
    """Where PRs and issues lie, with the rows and columns in there that do not count."""
    for kind in (slice(0, prs), slice(prs, nodes)):
        inside = np.flatnonzero((gone >= kind.start) & (gone < kind.stop))
        yield kind, (inside, gone[inside] - kind.start)


def _standardize(values: Floats, missing: tuple[Places, Places]) -> None:
    """Make each row standard scores, in place; all 0 where there is nothing to tell apart.

    *missing* are the rows and columns of values that do not count.
    """
    counts = np.full(len(values), values.shape[1])
    counts[missing[0]] -= 1
    counts = np.maximum(counts, 1)
    totals = values.sum(axis=1)
    totals[missing[0]] -= values[missing]
    values -= (totals / counts)[:, np.newaxis]
    squares = np.einsum("qn,qn->q", values, values)
    squares[missing[0]] -= values[missing] ** 2
    deviations = np.sqrt(np.maximum(squares, 0) / counts)
    known = deviations > _LEAST_DEVIATION
    values *= np.divide(1, deviations, out=np.zeros_like(deviations), where=known)[:, np.newaxis]
