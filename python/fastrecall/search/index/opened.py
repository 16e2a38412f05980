"""An index that was opened: what the arms search in, without building any of it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Literal

import numpy as np

from fastrecall.embedding import ModelInfo, embed_question
from fastrecall.graph import Graph, typed_edges
from fastrecall.search.bm25 import PostingLists
from fastrecall.search.hnsw import HNSW
from fastrecall.search.index.closeness import Closeness, is_rare, names_in
from fastrecall.search.index.folder import Arrays
from fastrecall.search.index.place import EVIDENCE_ARM, Manifest, changed_at
from fastrecall.search.index.ranking import Ranker
from fastrecall.search.index.strings import SortedTerms, Strings
from fastrecall.search.index.tickets import StoredTickets
from fastrecall.types import Ids, Vectors


class Index:
    """An index on disk: tickets, their memory, the closing links between them.

    The model loads in the background from the moment of opening.
    """

    def __init__(
        self,
        folder: Path,
        manifest: Manifest,
        arrays: Arrays,
        ann: HNSW | None,
        model: ModelInfo,
        loaded: Future[Vectors],
        threads: int | None,
    ) -> None:
        self.folder, self.manifest = folder, manifest
        self.tickets = StoredTickets(arrays)
        self.closeness = Closeness(manifest.closeness["cosine"], manifest.closeness["titles"])
        self.model, self._loaded, self._opened_by = model, loaded, os.getpid()
        self.links: tuple[Ids, Ids] = (arrays["link_issues"], arrays["link_prs"])
        self.mentions: Ids = arrays["mentions"]
        self.closes = Graph.from_edges(
            typed_edges(*self.links, "closes"), nodes=len(self), threads=threads
        )
        self.ranker = self._ranker(arrays, ann, threads)

    def _ranker(self, arrays: Arrays, ann: HNSW | None, threads: int | None) -> Ranker:
        lists = PostingLists(*(arrays[f"bm25_{name}"] for name in PostingLists._fields))
        terms = SortedTerms(
            Strings(arrays["term_bytes"], arrays["term_ends"]), arrays["term_numbers"]
        )
        if self.manifest.ranked_by == EVIDENCE_ARM:
            from fastrecall.search.best_parts import BestParts
            from fastrecall.search.index.by_evidence import ByEvidence
            from fastrecall.search.lending import joined_links

            return ByEvidence(
                BestParts(arrays["vectors"], lists),
                terms,
                is_pr=self.tickets.is_pr,
                links=joined_links(*self.links, self.mentions),
                embed=self._embed,
                threads=threads,
            )
        from fastrecall.search.index.by_fusion import ByFusion

        return ByFusion(
            arrays["vectors"],
            lists,
            terms,
            is_pr=self.tickets.is_pr,
            closes=self.closes,
            ann=ann,
            embed=self._embed,
            threads=threads,
        )

    def __len__(self) -> int:
        return len(self.tickets)

    def __repr__(self) -> str:
        return f"Index({self.manifest.corpus['name']!r}, {len(self)} tickets)"

    def _embed(self, texts: Sequence[str], kind: Literal["passage", "query"]) -> Vectors:
        """Questions as unit vectors ``[texts, dim]``."""
        assert kind == "query"
        if os.getpid() == self._opened_by:  # a forked child has no thread that loads
            self._loaded.result()
        return np.stack([embed_question(text, self.model) for text in texts])

    def named_in(self, question: str) -> Ids:
        """The nodes that hold a rare name of the question (see `closeness.names_in`), ascending."""
        holders = [self.ranker.holders(name) for name in names_in(question)]
        rare = [nodes for nodes in holders if is_rare(len(nodes), len(self))]
        return np.unique(np.concatenate(rare)) if rare else np.empty(0, np.int32)

    def relation(self, node: int, other: int) -> str:
        """What links *node* with *other*: ``closes``, ``mentions`` or ``mentioned by``."""
        if other in self.closes.neighbours(node, backwards=True).ids:
            return "closes"
        named = self.mentions[self.mentions[:, 0] == node, 1]
        return "mentions" if other in named else "mentioned by"

    def mentioned_with(self, node: int) -> Ids:
        """The nodes that name *node* or are named by it, closing links aside, ascending."""
        namers, named = self.mentions.T
        others = np.union1d(named[namers == node], namers[named == node])
        closing = [self.closes.neighbours(node, backwards=way).ids for way in (False, True)]
        return np.setdiff1d(others, np.concatenate(closing))

    def changed_origin(self) -> str | None:
        """A file that the corpus was read from and that is not what it was; None: none."""
        for path, size, time_ns in self.manifest.origins:
            try:
                stat = Path(path).stat()
            except OSError:
                return path
            if (stat.st_size, changed_at(stat)) != (size, time_ns):
                return path
        return None
