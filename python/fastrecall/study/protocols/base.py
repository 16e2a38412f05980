"""What a protocol is given and what it asks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from fastrecall.corpus import Duplicate, find_duplicates, query_text
from fastrecall.search.arms import ARMS
from fastrecall.search.existing import Past
from fastrecall.study.settings import Settings
from fastrecall.types import Corpus, Gold, GoldPair, Ids, Links


@dataclass(frozen=True)
class Case:
    """The material of an evaluation: tickets, the links that walks may follow, the gold pairs.

    ``found`` are the links of all sources, whichever the settings let the walks follow.
    """

    corpus: Corpus
    links: Links
    gold: Gold
    settings: Settings
    found: Links

    @cached_property
    def duplicates(self) -> list[Duplicate]:
        """The corpus' issues that repeat another one."""
        return find_duplicates(self.corpus)


@dataclass(frozen=True)
class Asked:
    """The questions of one protocol.

    ``texts`` are the distinct questions and ``nodes`` their own issues (-1 when not in the corpus);
    ``clusters`` number the issues, for two wordings of one are no two witnesses. Pair ``i`` is
    ``pairs[i]``, asked by question ``rows[i]``, answered by node ``targets[i]``.
    ``exclude`` and ``allowed`` say what does not exist for a question, as in `Queries`; ``links``
    are the closing links that walks may follow, of which ``kept_links`` should have been changed
    and could not be. ``unreachable`` lists gold pairs whose answer is not in the corpus: they
    cannot be asked.
    """

    texts: tuple[str, ...]
    nodes: Ids
    clusters: npt.NDArray[np.int32]
    pairs: tuple[GoldPair, ...]
    rows: npt.NDArray[np.int32]
    targets: Ids
    links: Links
    unreachable: tuple[GoldPair, ...] = ()
    exclude: Ids | None = None
    allowed: Past | None = None
    kept_links: int = 0

    @property
    def issues(self) -> int:
        """How many issues ask."""
        return len(np.unique(self.clusters))

    @property
    def not_yet(self) -> npt.NDArray[np.bool_]:
        """Whether each pair's answer does not exist yet when its question is asked."""
        if self.allowed is None:
            return np.zeros(len(self.pairs), dtype=np.bool_)
        later: npt.NDArray[np.bool_] = (
            self.allowed.created_at[self.targets] >= self.allowed.before[self.rows]
        )
        return later

    @property
    def symptoms_are_new(self) -> bool:
        """Whether the issue that a question was taken from does not exist for it."""
        return self.exclude is not None

    def arms_of(self, settings: Settings) -> tuple[str, ...]:
        """The arms of the settings that answer these questions."""
        return tuple(
            arm for arm in settings.arms if self.symptoms_are_new or not ARMS[arm].new_symptoms_only
        )

    def same_but_for_links(self, other: Asked) -> bool:
        """Whether nothing but the links that walks follow differs from *other*."""
        return (
            self.texts == other.texts
            and self.pairs == other.pairs
            and _same(self.exclude, other.exclude)
            and _same_past(self.allowed, other.allowed)
        )


def _same(one: npt.NDArray[Any] | None, other: npt.NDArray[Any] | None) -> bool:
    return one is other or (one is not None and other is not None and np.array_equal(one, other))


def _same_past(one: Past | None, other: Past | None) -> bool:
    return one is other or (one is not None and other is not None and one.same(other))


@dataclass(frozen=True)
class Protocol:
    """One way of asking: its key in records, its title and its meaning in one sentence."""

    key: str
    title: str
    sentence: str
    ask: Callable[[Case], Asked]


def ask_pairs(case: Case, pairs: Sequence[GoldPair]) -> Asked:
    """The questions of *pairs*, with everything indexed: one question an issue and wording."""
    rows: dict[tuple[str, int, str], int] = {}
    issues: dict[tuple[str, int], int] = {}
    texts: list[str] = []
    nodes: list[int] = []
    clusters: list[int] = []
    row_of: list[int] = []
    asked = [pair for pair in pairs if pair.pr_node >= 0]
    wordings = _wordings(case, asked)
    for pair in asked:
        key = (pair.repo, pair.issue, pair.query)
        if key not in rows:
            rows[key] = len(texts)
            texts.append(wordings.get(pair.issue_node, pair.query))
            nodes.append(pair.issue_node)
            clusters.append(issues.setdefault((pair.repo, pair.issue), len(issues)))
        row_of.append(rows[key])
    return Asked(
        texts=tuple(texts),
        nodes=np.array(nodes, dtype=np.int32),
        clusters=np.array(clusters, dtype=np.int32),
        pairs=tuple(asked),
        rows=np.array(row_of, dtype=np.int32),
        targets=np.array([pair.pr_node for pair in asked], dtype=np.int32),
        links=case.links,
        unreachable=tuple(pair for pair in pairs if pair.pr_node < 0),
    )


def _wordings(case: Case, pairs: Sequence[GoldPair]) -> dict[int, str]:
    """What issues ask, by node, where it is not the gold query itself, as it is for titles."""
    mode = case.settings.query
    if mode == "title":
        return {}
    nodes = (pair.issue_node for pair in pairs if pair.issue_node >= 0)
    return {node: query_text(ticket, mode) for node, ticket in case.corpus.read(nodes)}
