"""The arms: every way of finding that an evaluation compares (DESIGN §4 "Arms")."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fastrecall.graph import Graph
from fastrecall.search.best import Best
from fastrecall.search.existing import Existing
from fastrecall.search.fuse import rrf
from fastrecall.search.memory import Searched
from fastrecall.search.nearest import Nearest
from fastrecall.types import Ids, Rankings, Scores

if TYPE_CHECKING:
    from fastrecall.search.ticket_reasoning import TicketReasoning

FUSION_DEPTH = 100
"""How deep the lists go that are fused."""

CURVE_DEPTH = 64
"""How deep the rankings go at least, so that hit@budget curves can be read from them."""

EXPANSION_DEPTH = 2
"""How many ``similar`` edges the semantic expansion follows."""

REASONING = "hybrid_reasoning"
"""The arm that asks a language model."""

BEST = "best"
"""The arm of `fastrecall.search.best`."""

_QUERIES_AT_ONCE = 512
_PLACES_AT_ONCE = 1 << 26
"""How many rankings of an arm are held at a time, and places in them: an uncut walk may return the
whole corpus."""


@dataclass(frozen=True)
class Queries:
    """A batch of questions to one memory: their texts, and what is nearest to their vectors.

    ``exclude`` names, per query, the one node that does not exist for it (-1 for none);
    ``allowed`` tells the nodes that do exist for it. ``titled`` says whether
    the first line of a text is a title.
    """

    texts: tuple[str, ...]
    nearest: Nearest
    exclude: Ids | None = None
    allowed: Existing | None = None
    titled: bool = True

    def __len__(self) -> int:
        return len(self.texts)


def symptom(text: str, *, titled: bool) -> str:
    """A question as `Best` reads it: a body alone stands behind a line break."""
    return text if titled else f"\n{text}"


@dataclass(frozen=True)
class Reach:
    """How far the arms look: ``budget`` nodes returned, walks of ``depth`` edges.

    ``seeds`` is how many nodes a causal walk starts from; ``None`` means as many as may be
    returned. ``undirected`` walks also go back from a PR to its issues.
    """

    budget: int = 32
    seeds: int | None = None
    depth: int = 3
    undirected: bool = False

    @property
    def width(self) -> int:
        """How deep rankings are kept: the budget, or the curves' depth if that is more."""
        return max(self.budget, CURVE_DEPTH)


@dataclass
class Finder:
    """Answers one batch of queries with any arm; lists that arms share are made once.

    ``closes`` is the graph of closing links, issue → PR, that walks follow; ``reasoning`` and
    ``best`` serve the arms of these names. ``seconds`` says what each list took, and
    ``arm_seconds`` each arm together with the lists that it stands on.
    """

    memory: Searched
    closes: Graph
    queries: Queries
    reach: Reach
    reasoning: TicketReasoning | None = None
    best: Best | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    arm_seconds: dict[str, float] = field(default_factory=dict)
    _lists: dict[str, Rankings] = field(default_factory=dict)

    def ranked(self, name: str) -> Rankings:
        """One of the flat lists: ``semantic``, ``semantic_prs``, ``bm25`` or ``hybrid``."""
        if name not in self._lists:
            # A list may use others: make those first, so that each is charged for itself alone.
            for part in _PARTS.get(name, ()):
                self.ranked(part)
            spared, start = self.queries.nearest.spared, time.perf_counter()
            self._lists[name] = _LISTS[name](self)
            spared = self.queries.nearest.spared - spared
            self.seconds[name] = time.perf_counter() - start + spared
        return self._lists[name]

    def run(self, arm: Arm) -> Iterator[tuple[slice, Rankings]]:
        """The arm's rankings, for some queries after the others."""
        for name in arm.uses:
            self.ranked(name)
        own = 0.0
        step = max(1, min(_QUERIES_AT_ONCE, _PLACES_AT_ONCE // max(1, len(self.memory))))
        for first in range(0, len(self.queries), step):
            some = slice(first, min(first + step, len(self.queries)))
            start = time.perf_counter()
            rankings = arm.find(self, some)
            own += time.perf_counter() - start
            yield some, rankings
        self.arm_seconds[arm.key] = own + sum(self.seconds[name] for name in arm.uses)

    def along(self, closes: Graph) -> Finder:
        """A finder of the same questions that walks other closing links."""
        return replace(self, closes=closes, arm_seconds=dict(self.arm_seconds))

    def unseen(self, some: slice) -> Ids | list[npt.NDArray[np.int32]] | None:
        """For each of some queries, every node that a walk must not enter."""
        exclude, allowed = self.queries.exclude, self.queries.allowed
        if allowed is None:
            return None if exclude is None else exclude[some]
        hidden = ~allowed[some]
        if exclude is not None:
            rows = np.flatnonzero(exclude[some] >= 0)
            hidden[rows, exclude[some][rows]] = True
        return [np.flatnonzero(row).astype(np.int32) for row in hidden]


@dataclass(frozen=True)
class Arm:
    """One way of finding: its key in records, its title in tables and what it does.

    ``find`` answers some queries of a finder. ``uses`` names the flat lists it stands on;
    ``links_from`` is the one whose head its walk along closing links starts from. ``cut`` is false
    for the walks that the article describes without a budget: they are shown with their mean output
    size and never as the headline. ``optional`` arms run only when they are asked for,
    ``new_symptoms_only`` arms only where a question's own issue does not exist.
    """

    key: str
    title: str
    sentence: str
    uses: tuple[str, ...]
    find: Callable[[Finder, slice], Rankings]
    links_from: str | None = None
    cut: bool = True
    optional: bool = False
    new_symptoms_only: bool = False


def _semantic(finder: Finder) -> Rankings:
    queries = finder.queries
    depth = max(finder.reach.width, FUSION_DEPTH)
    return queries.nearest.ranked(depth, exclude=queries.exclude, allowed=queries.allowed)


def _semantic_prs(finder: Finder) -> Rankings:
    queries = finder.queries
    return queries.nearest.ranked(
        finder.reach.width, only_prs=True, exclude=queries.exclude, allowed=queries.allowed
    )


def _bm25(finder: Finder) -> Rankings:
    queries = finder.queries
    depth = max(finder.reach.width, FUSION_DEPTH)

    def search(some: slice, exists: npt.NDArray[np.bool_] | None) -> tuple[Ids, Scores]:
        exclude = None if queries.exclude is None else queries.exclude[some]
        return finder.memory.bm25.search(
            queries.texts[some], depth, exclude=exclude, visible=exists
        )

    exists = queries.allowed
    return Rankings(*(search(slice(None), None) if exists is None else exists.searched(search)))


def _hybrid(finder: Finder) -> Rankings:
    lists = [finder.ranked(name).ids[:, :FUSION_DEPTH] for name in _PARTS["hybrid"]]
    return Rankings(*rrf(lists, threads=finder.memory.threads))


_LISTS: dict[str, Callable[[Finder], Rankings]] = {
    "semantic": _semantic,
    "semantic_prs": _semantic_prs,
    "bm25": _bm25,
    "hybrid": _hybrid,
}
_PARTS = {"hybrid": ("semantic", "bm25")}


def _first(name: str) -> Callable[[Finder, slice], Rankings]:
    """An arm that returns the head of a flat list."""

    def find(finder: Finder, some: slice) -> Rankings:
        whole, width = finder.ranked(name), finder.reach.width
        scores = None if whole.scores is None else whole.scores[some, :width]
        return Rankings(whole.ids[some, :width], scores)

    return find


def _reasoned(finder: Finder, some: slice) -> Rankings:
    """The hybrid list, its head reordered by a language model."""
    assert finder.reasoning is not None
    ids = finder.ranked("hybrid").ids[some]
    texts, width = finder.queries.texts[some], finder.reach.width
    return Rankings(finder.reasoning.reorder(texts, ids, width=width))


def _best(finder: Finder, some: slice) -> Rankings:
    """The PRs with the best evidence, their own or a linked ticket's."""
    assert finder.best is not None
    queries = finder.queries
    ids, scores = finder.best.search(
        [symptom(text, titled=queries.titled) for text in queries.texts[some]],
        finder.reach.width,
        exclude=None if queries.exclude is None else queries.exclude[some],
        visible=None if queries.allowed is None else queries.allowed[some],
    )
    return Rankings(ids, scores)


def _causal(name: str, *, cut: bool = True) -> Callable[[Finder, slice], Rankings]:
    """An arm that walks ``closes`` edges from the head of a flat list."""

    def find(finder: Finder, some: slice) -> Rankings:
        reach = finder.reach
        most = reach.width if cut else reach.budget
        ids, origins = finder.closes.walk(
            finder.ranked(name).ids[some, : reach.seeds or most],
            depth=reach.depth,
            budget=reach.width if cut else None,
            undirected=reach.undirected,
            exclude=finder.unseen(some),
            order="seed",
        )
        return Rankings(ids, origins=origins)

    return find


def _similar(*, cut: bool = True) -> Callable[[Finder, slice], Rankings]:
    """The arm that walks ``similar`` edges: half the budget are seeds, or all of it uncut."""

    def find(finder: Finder, some: slice) -> Rankings:
        reach = finder.reach
        seeds = max(1, reach.budget // 2) if cut else reach.budget
        ids, origins = finder.memory.similar.walk(
            finder.ranked("semantic").ids[some, :seeds],
            depth=EXPANSION_DEPTH,
            budget=reach.width if cut else None,
            exclude=finder.unseen(some),
            order="depth",
        )
        return Rankings(ids, origins=origins)

    return find


ARMS: dict[str, Arm] = {
    arm.key: arm
    for arm in (
        Arm(
            "semantic",
            "semantic",
            "the nearest nodes by cosine",
            ("semantic",),
            _first("semantic"),
        ),
        Arm(
            "semantic_prs",
            "semantic, PRs only",
            "the nearest PRs by cosine: the honest baseline that needs no graph",
            ("semantic_prs",),
            _first("semantic_prs"),
        ),
        Arm("bm25", "bm25", "the best nodes by shared words", ("bm25",), _first("bm25")),
        Arm(
            "hybrid",
            "hybrid",
            "semantic and bm25, fused by reciprocal rank",
            ("semantic", "bm25", "hybrid"),
            _first("hybrid"),
        ),
        Arm(
            REASONING,
            "hybrid + reasoning",
            "the hybrid list, fused with a language model's order of its head",
            ("semantic", "bm25", "hybrid"),
            _reasoned,
            optional=True,
        ),
        Arm(
            "semantic_similar",
            "semantic + similar",
            "nearest nodes, then their nearest neighbours",
            ("semantic",),
            _similar(),
        ),
        Arm(
            "causal",
            "causal",
            "nearest nodes, each followed by the PRs that its closing links reach",
            ("semantic",),
            _causal("semantic"),
            links_from="semantic",
        ),
        Arm(
            "hybrid_causal",
            "hybrid + causal",
            "the same walk from the hybrid list",
            ("semantic", "bm25", "hybrid"),
            _causal("hybrid"),
            links_from="hybrid",
        ),
        Arm(
            BEST,
            "best",
            "PRs by meaning, words and what linked tickets lend them",
            (),
            _best,
            new_symptoms_only=True,
        ),
        Arm(
            "semantic_similar_uncut",
            "semantic + similar, uncut",
            "as the article describes it, returning all that is reached",
            ("semantic",),
            _similar(cut=False),
            cut=False,
        ),
        Arm(
            "causal_uncut",
            "causal, uncut",
            "as the article describes it, returning all that is reached",
            ("semantic",),
            _causal("semantic", cut=False),
            links_from="semantic",
            cut=False,
        ),
    )
}
"""Every arm by its key, in the order of tables."""

DEFAULT_ARMS = tuple(key for key, arm in ARMS.items() if not arm.optional)
"""The arms that run when none are named."""
