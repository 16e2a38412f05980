"""The evaluation as DESIGN defines it, from tickets and vectors alone: sets, lists and sorts.

Nothing of the package is used, and no other oracle: where both are wrong they are not wrong alike.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Pairs = list[tuple[int, int]]
Words = Callable[[str], Sequence[str]]

CLOSES = re.compile(r"\b(?:clos|fix|resolv)\w*\s+#(\d+)", re.IGNORECASE)
REFERENCE = re.compile(r"(?:\b(?:clos|fix|resolv)\w*:?\s+)?#\d+\b", re.IGNORECASE)
REPEATS = re.compile(r"^Duplicate of #(\d+)$", re.MULTILINE)


@dataclass
class World:
    """One repository: its tickets in node order, their texts as unit vectors and as words.

    Of the ways to say that an issue repeats another, a line "Duplicate of #5" alone is read.
    """

    tickets: Sequence[Any]
    vectors: np.ndarray
    words: Words
    depth: int = 3
    budget: int = 32
    undirected: bool = False
    texts: list[str] = field(init=False)

    def __post_init__(self) -> None:
        names = {"issue": "issue", "pr": "PR"}
        self.texts = [
            f"{names[t.kind]} #{t.number}: {t.title[:120]}\n{t.body[:300]}" for t in self.tickets
        ]
        issue_of = {t.number: i for i, t in enumerate(self.tickets) if t.kind == "issue"}
        closed: set[tuple[int, int]] = set()
        repeated = set()
        for node, ticket in enumerate(self.tickets):
            for number in map(int, CLOSES.findall(ticket.body)):
                issue = issue_of.get(number)
                if ticket.kind == "pr" and issue is not None and self.tickets[issue].title.strip():
                    closed.add((issue, node))
            for number in map(int, REPEATS.findall(ticket.body)):
                if ticket.kind == "issue" and issue_of.get(number, node) != node:
                    repeated.add((node, issue_of[number]))
        self.links = sorted(closed)
        self.repeats = sorted(
            (second, fix)
            for second, first in repeated
            for issue, fix in self.links
            if issue == first
            and ((first, second) not in repeated or self._age(second) > self._age(first))
        )
        self.counts = [Counter(self.words(text)) for text in self.texts]
        self.unit = self.vectors.astype(np.float64)
        self.unit /= np.linalg.norm(self.unit, axis=1, keepdims=True)
        nodes = range(len(self.tickets))
        self.near: dict[int, dict[int, float]] = {node: {} for node in nodes}
        for node in nodes:
            scores = np.float32(self.unit @ self.unit[node])
            others = [other for other in nodes if other != node]
            for other in ordered(scores, others)[:16]:
                self.near[node][other] = self.near[other][node] = float(scores[other])

    def _age(self, node: int) -> tuple[int, int]:
        return self.tickets[node].created_at, node

    def pairs(self, protocol: str) -> Pairs:
        return self.repeats if protocol in ("duplicates", "past-only") else self.links

    def question(self, protocol: str, asks: int) -> str:
        """What an issue asks: its title, and nothing that names another ticket if it repeats one.

        Of the ways to name a ticket, #5 alone is read.
        """
        title: str = self.tickets[asks].title[:120]
        return REFERENCE.sub(" ", title) if protocol in ("duplicates", "past-only") else title

    def exists(self, protocol: str, asks: int) -> set[int]:
        """The nodes that exist when an issue asks."""
        created = [ticket.created_at for ticket in self.tickets]
        if protocol == "past-only":
            return {node for node, time in enumerate(created) if time < created[asks]}
        everything = set(range(len(created)))
        return everything - {asks} if protocol in ("leave-one-out", "duplicates") else everything

    def ask(
        self, protocol: str, asks: int, vector: np.ndarray, *, links: Pairs | None = None
    ) -> dict[str, list[int]]:
        """What each arm returns to the question of an issue, whose vector is given."""
        there = self.exists(protocol, asks)
        scores = np.float32(self.unit @ (vector.astype(np.float64) / np.linalg.norm(vector)))
        semantic = ordered(scores, there)[:100]
        prs = [node for node in ordered(scores, there) if self.tickets[node].kind == "pr"]
        bm25 = self._bm25(self.words(self.question(protocol, asks)), there)[:100]
        hybrid = fused([semantic, bm25])
        linked = self._linked(there, self.links if links is None else links)
        near = {
            node: {other: score for other, score in self.near[node].items() if other in there}
            for node in there
        }
        budget = self.budget
        uncut = {
            "semantic_similar_uncut": by_depth(semantic[:budget], near),
            "causal_uncut": by_seed(semantic[:budget], linked, self.depth),
        }
        cut = {
            "semantic": semantic,
            "semantic_prs": prs,
            "bm25": bm25,
            "hybrid": hybrid,
            "semantic_similar": by_depth(semantic[: budget // 2], near),
            "causal": by_seed(semantic[:budget], linked, self.depth),
            "hybrid_causal": by_seed(hybrid[:budget], linked, self.depth),
        }
        return {arm: found[:budget] for arm, found in cut.items()} | uncut

    def _linked(self, there: set[int], links: Pairs) -> Mapping[int, list[int]]:
        linked = defaultdict(list)
        for issue, pr in links:
            if {issue, pr} <= there:
                linked[issue].append(pr)
                if self.undirected:
                    linked[pr].append(issue)
        return {node: sorted(others) for node, others in linked.items()}

    def _bm25(self, asked: Sequence[str], there: set[int]) -> list[int]:
        lengths = {node: self.counts[node].total() for node in there}
        mean = sum(lengths.values()) / max(1, len(there))
        scores: dict[int, float] = defaultdict(float)
        for word in asked:
            having = [node for node in there if self.counts[node][word]]
            rare = math.log(1 + (len(there) - len(having) + 0.5) / (len(having) + 0.5))
            for node in having:
                often = self.counts[node][word]
                scores[node] += rare * often / (often + 1.2 * (0.25 + 0.75 * lengths[node] / mean))
        return ordered({node: np.float32(score) for node, score in scores.items()}, scores)


def ordered(scores: Any, nodes: Iterable[int]) -> list[int]:
    """Higher score first, then lower id."""
    return sorted(nodes, key=lambda node: (-scores[node], node))


def fused(lists: Sequence[Sequence[int]]) -> list[int]:
    scores: dict[int, float] = defaultdict(float)
    for ranking in lists:
        for rank, node in enumerate(ranking, 1):
            scores[node] += 1 / (60 + rank)
    return ordered({node: round(score, 12) for node, score in scores.items()}, scores)


def by_seed(seeds: Sequence[int], linked: Mapping[int, list[int]], depth: int) -> list[int]:
    """Each seed, then what it reaches and no earlier one did, level by level."""
    emitted: dict[int, None] = {}
    for seed in seeds:
        level, seen = [seed], {seed}
        for _ in range(depth + 1):
            emitted |= dict.fromkeys(level)
            following = []
            for node in level:
                for other in linked.get(node, []):
                    if other not in seen:
                        seen.add(other)
                        following.append(other)
            level = following
    return list(emitted)


def by_depth(seeds: Sequence[int], near: Mapping[int, Mapping[int, float]]) -> list[int]:
    """All seeds, then by (depth, seed rank, similarity, id) what two steps reach."""
    seed_of = {seed: rank for rank, seed in enumerate(seeds)}
    level = list(seeds)
    for _ in range(2):
        ways: dict[int, tuple[int, float, int]] = {}
        for node in level:
            for other, score in near[node].items():
                if other not in seed_of:
                    way = (seed_of[node], -score, other)
                    ways[other] = min(way, ways.get(other, way))
        level = sorted(ways, key=lambda node: ways[node])
        seed_of |= {node: ways[node][0] for node in level}
    return list(seed_of)
