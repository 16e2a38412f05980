"""Puts the questions of the protocols to a memory; what protocols share is found once."""

from __future__ import annotations

from collections.abc import Mapping

from fastrecall.graph import Graph, closing_edges
from fastrecall.search.arms import ARMS, Finder, Queries
from fastrecall.search.best import Best
from fastrecall.search.memory import Searched
from fastrecall.search.nearest import Nearest
from fastrecall.search.ticket_reasoning import TicketReasoning
from fastrecall.study.answers import Answers, collect
from fastrecall.study.protocols import Asked
from fastrecall.study.settings import Settings
from fastrecall.types import Vectors


class Asking:
    """Asks the protocols of *asked*, in any order; ``found`` holds the answers of each by arm.

    Protocols with the same questions share the search for what is nearest. Those that differ in
    nothing but the links that walks follow share every list, and the answers of every arm that
    follows no link.

    ``row`` says which of ``vectors`` is that of a question; ``reasoning`` and ``best`` serve the
    arms of these names.
    """

    def __init__(
        self,
        memory: Searched,
        asked: Mapping[str, Asked],
        row: Mapping[str, int],
        vectors: Vectors,
        settings: Settings,
        reasoning: TicketReasoning | None = None,
        best: Best | None = None,
    ) -> None:
        self.found: dict[str, dict[str, Answers]] = {}
        self._memory = memory
        self._asked = asked
        self._settings = settings
        self._reasoning = reasoning
        self._best = best
        self._finders: dict[str, Finder] = {}
        self._nearest = {
            texts: Nearest(memory, vectors[[row[text] for text in texts]])
            for texts in {question.texts for question in asked.values()}
        }

    def ask(self, key: str) -> tuple[Finder, dict[str, Answers]]:
        """Ask the arms of the settings what the protocol *key* asks, as far as they answer it."""
        question = self._asked[key]
        twin = next((k for k in self.found if self._asked[k].same_but_for_links(question)), None)
        finder = self._finders[key] = self._finder(question, twin)
        self.found[key] = {
            arm: self.found[twin][arm]
            if twin is not None and ARMS[arm].links_from is None
            else collect(finder, ARMS[arm], question)
            for arm in question.arms_of(self._settings)
        }
        return finder, self.found[key]

    def _finder(self, question: Asked, twin: str | None) -> Finder:
        memory = self._memory
        closes = Graph.from_edges(
            closing_edges(question.links), nodes=len(memory), threads=memory.threads
        )
        if twin is not None:
            return self._finders[twin].along(closes)
        queries = Queries(
            texts=question.texts,
            nearest=self._nearest[question.texts],
            exclude=question.exclude,
            allowed=question.allowed,
            titled=self._settings.titled,
        )
        return Finder(memory, closes, queries, self._settings.reach, self._reasoning, self._best)
