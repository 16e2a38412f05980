"""Corpus → index: everything that serving needs, in one folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fastrecall import _core
from fastrecall import corpus as corpus_room
from fastrecall._files import expanded
from fastrecall._memory import parse_bytes
from fastrecall.embedding import embed, resolve_model
from fastrecall.embedding.stream import embed_to_dataset
from fastrecall.execution import Executor, LocalExecutor
from fastrecall.search import tokens
from fastrecall.search.best_parts import FIELD_WEIGHTS, cut_texts, joined
from fastrecall.search.blocks import ArraySource, BlockedIndex, add_vectors
from fastrecall.search.blocks.counting import Counting, count_all
from fastrecall.search.blocks.joining import join_blocks
from fastrecall.search.blocks.room import share_of_search
from fastrecall.search.bm25 import Terms
from fastrecall.search.hnsw import HNSW
from fastrecall.search.index.closeness import Closeness, calibrated, sampled
from fastrecall.search.index.folder import Build, new_build
from fastrecall.search.index.place import EVIDENCE_ARM, Manifest, index_folder, ranking_arm
from fastrecall.search.index.redacted import redacted
from fastrecall.search.index.tickets import ticket_arrays
from fastrecall.search.mentions import find_mentions
from fastrecall.types import Corpus, Ids, LinkSource, Scores, Vectors, VectorSource

SERVED_LINKS: tuple[LinkSource, ...] = ("published", "github", "linked", "title")
"""Every source of closing links: whoever asks for a fix wants all that are known."""


def build_index(
    corpus: Corpus,
    folder: str | os.PathLike[str] | None = None,
    *,
    links: Sequence[LinkSource] = SERVED_LINKS,
    model: str = "minilm",
    threads: int | None = None,
    cache: bool | Path = True,
    memory: int | str | None = None,
    executor: Executor | None = None,
    source: str = "",
    origins: Sequence[tuple[str, int, int]] = (),
) -> Manifest:
    """Write the index of a corpus: vectors, keyword postings, closing links, the tickets' texts.

    Secrets of known shapes are taken out of titles and bodies first. An index that is in the folder
    stays readable until the new one is whole.

    Args:
        corpus: the tickets.
        folder: where to; `index_folder` of *source*, or else of the corpus' name, when ``None``.
        links: the sources of closing links that answers follow.
        model: what `resolve_model` understands.
        threads: threads to use; all usable cores when ``None``.
        cache: as for `embed`.
        memory: with an amount (such as ``"4GB"``), vectors stay in files while the index is built
            and half of it bounds what a search or count allocates; a gigabyte, with all vectors
            beside it, when ``None``. Above come the tickets, where these are no dataset's; the
            words as they are kept; and, for a corpus that is searched approximately, its graph:
            ``dim + 8 * 16`` bytes a ticket, twice that while it grows.
        executor: what embeds texts and counts words, as tasks of *memory* each; tasks on other
            machines need to see *folder* and the cache.
        source: what names the corpus to `load_corpus`; kept in the manifest.
        origins: the corpus' files as (path, bytes, time in ns); kept in the manifest.

    Raises:
        InputError: no amount of memory.
        ModelError: the model cannot be had.
        CacheError: the folder cannot be written, or another process is building there.

    >>> import fastrecall as fr, tempfile
    >>> place = Path(tempfile.mkdtemp())
    >>> build_index(fr.load_corpus("demo"), place, model="fake", cache=False).corpus["nodes"]
    1090
    """
    info = resolve_model(model, cache=cache)
    found = corpus_room.find_links(corpus).of(*links)
    corpus = replace(corpus, tickets=redacted(corpus.tickets))
    place = index_folder(source or corpus.name) if folder is None else Path(folder)
    bounded = None if memory is None else parse_bytes(memory)
    arm = ranking_arm(len(corpus))
    with new_build(place) as build:
        build.add(
            **ticket_arrays(corpus, build.scratch),
            link_issues=found.issues,
            link_prs=found.prs,
            mentions=find_mentions(corpus),
        )
        parts = _Parts(build, corpus, model, threads, cache, bounded, executor)
        closeness = parts.add_evidence() if arm == EVIDENCE_ARM else parts.add_fusion()
        prs = int(corpus.is_pr.sum())
        return build.finish(
            Manifest(
                build=build.name,
                corpus={
                    "name": corpus.name,
                    "fingerprint": corpus.fingerprint,
                    "issues": len(corpus) - prs,
                    "prs": prs,
                    "nodes": len(corpus),
                    "links": len(found),
                    "generated": corpus.generated,
                },
                # A folder is found again from anywhere.
                model=info.as_dict() | {"name": _findable(info.name)},
                links=tuple(links),
                closeness=closeness.as_dict(),
                ranked_by=arm,
                source=source,
                origins=tuple(origins),
                versions={"fastrecall": _core.__version__, "numpy": np.__version__},
            )
        )


@dataclass(frozen=True)
class _Parts:
    """What the arms search: embedded and counted, of a corpus, into a build.

    ``memory`` None: vectors are held; see `build_index`.
    """

    build: Build
    corpus: Corpus
    model: str
    threads: int | None
    cache: bool | Path
    memory: int | None
    executor: Executor | None

    def add_evidence(self) -> Closeness:
        """Write what `ByEvidence` needs."""
        is_pr = self.corpus.is_pr
        fields = cut_texts(((one.title, one.body) for one in self.corpus.tickets), is_pr=is_pr)
        vectors = self._add_vectors(list(map(joined, *fields.values())))
        self._add_words(fields, weights=FIELD_WEIGHTS, terms=tokens.stems)
        asked = [title.strip() for title in fields["title"]]
        titled = np.array([place for place, title in enumerate(asked) if title], np.int32)
        exact = BlockedIndex(vectors, memory=self._share, threads=self.threads)
        return self._closeness(titled, lambda place: asked[place], exact.search)

    def add_fusion(self) -> Closeness:
        """Write what `ByFusion` needs."""
        texts = corpus_room.node_texts(self.corpus)
        vectors = self._add_vectors(texts)
        self._add_words({"text": texts})
        ann = HNSW(vectors.dim, threads=self.threads)
        add_vectors(ann, vectors, memory=self._share)
        self.build.add_ann(ann)
        columns, tickets = self.corpus.columns, self.corpus.tickets
        titled = np.setdiff1d(np.arange(len(columns), dtype=np.int32), columns.untitled)
        return self._closeness(
            titled, lambda node: corpus_room.query_text(tickets[node]), ann.search
        )

    @property
    def _share(self) -> int:
        return share_of_search(self.memory)

    def _add_vectors(self, texts: Sequence[str]) -> VectorSource:
        """Embed *texts*, write their vectors, and tell where these can be read."""
        vectors: VectorSource
        if self.memory is None and self.executor is None:
            vectors = ArraySource(
                embed(texts, model=self.model, threads=self.threads, cache=self.cache)
            )
        else:
            vectors = embed_to_dataset(
                texts,
                self.build.scratch / "vectors",
                model=self.model,
                threads=self.threads,
                cache=self.cache,  # so that work that was stopped, or known texts, cost nothing
                executor=self.executor,
            )
        self.build.add_rows("vectors", vectors)
        return vectors

    def _add_words(
        self,
        fields: Mapping[str, Sequence[str]],
        *,
        weights: Mapping[str, float] | None = None,
        terms: Terms = tokens.terms,
    ) -> None:
        place = self.build.scratch / "words"
        counting = Counting(fields, weights or {}, terms, False, place, self._share)
        executor = self.executor or LocalExecutor(threads=self.threads)
        words = join_blocks(count_all(counting, executor))
        self.build.add(
            **{f"bm25_{name}": array for name, array in words.lists._asdict().items()},
            term_bytes=words.text,
            term_ends=words.ends,
            term_numbers=np.arange(len(words.ends), dtype=np.int32),
        )

    def _closeness(
        self,
        titled: Ids,
        title: Callable[[int], str],
        nearest: Callable[[Vectors, int], tuple[Ids, Scores]],
    ) -> Closeness:
        """Calibrated on titles as questions, each of the text at its place in what is searched."""
        places = sampled(titled)
        if not len(places):
            return Closeness(0.0, 0)
        questions = [title(place) for place in places.tolist()]
        asked = embed(
            questions,
            model=self.model,
            threads=self.threads,
            cache=self.cache,
            kind="query",
            progress=False,
        )
        return calibrated(places, *nearest(asked, 2))


def _findable(model: str) -> str:
    path = expanded(model)
    return str(path.resolve()) if path.is_dir() else model
