"""Corpus → index: everything that serving needs, in one folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from fastrecall import _core
from fastrecall import corpus as corpus_room
from fastrecall._files import expanded
from fastrecall.embedding import embed, resolve_model
from fastrecall.search.best_parts import best_parts, prs_first, title_of_question
from fastrecall.search.bm25 import PostingLists, posting_lists
from fastrecall.search.exact import ExactIndex
from fastrecall.search.hnsw import HNSW
from fastrecall.search.index.closeness import Closeness, calibrated, sampled_nodes
from fastrecall.search.index.folder import Build, new_build
from fastrecall.search.index.place import EVIDENCE_ARM, Manifest, index_folder, ranking_arm
from fastrecall.search.index.strings import sorted_terms
from fastrecall.search.index.tickets import ticket_arrays
from fastrecall.search.mentions import find_mentions
from fastrecall.search.redaction import redact
from fastrecall.types import Corpus, Ids, LinkSource, Scores, Ticket, Vectors

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
        source: what names the corpus to `load_corpus`; kept in the manifest.
        origins: the corpus' files as (path, bytes, time in ns); kept in the manifest.

    Raises:
        ModelError: the model cannot be had.
        CacheError: the folder cannot be written, or another process is building there.

    >>> import fastrecall as fr, tempfile
    >>> place = Path(tempfile.mkdtemp())
    >>> build_index(fr.load_corpus("demo"), place, model="fake", cache=False).corpus["nodes"]
    1090
    """
    info = resolve_model(model, cache=cache)
    found = corpus_room.find_links(corpus).of(*links)
    corpus = replace(corpus, tickets=tuple(map(_redacted, corpus.tickets)))
    place = index_folder(source or corpus.name) if folder is None else Path(folder)
    embedding = _Embedding(model, threads, cache)
    arm = ranking_arm(len(corpus))
    with new_build(place) as build:
        build.add(
            **ticket_arrays(corpus),
            link_issues=found.issues,
            link_prs=found.prs,
            mentions=find_mentions(corpus),
        )
        add_parts = _add_evidence if arm == EVIDENCE_ARM else _add_fusion
        closeness = add_parts(build, corpus, embedding)
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
class _Embedding:
    """How texts are embedded; the options of `embed`."""

    model: str
    threads: int | None
    cache: bool | Path

    def __call__(self, texts: Sequence[str], kind: Literal["passage", "query"]) -> Vectors:
        """Vectors of *texts*."""
        return embed(texts, kind=kind, progress=kind == "passage", **vars(self))


def _add_evidence(build: Build, corpus: Corpus, embedding: _Embedding) -> Closeness:
    """Write what `ByEvidence` needs."""
    titles = [ticket.title for ticket in corpus.tickets]
    bodies = [ticket.body for ticket in corpus.tickets]
    parts, vocabulary = best_parts(titles, bodies, is_pr=corpus.is_pr, embed=embedding)
    _add_searched(build, parts.vectors, parts.lists, vocabulary)
    asked = [title_of_question(titles[node]) for node in prs_first(corpus.is_pr)]
    exact = ExactIndex(parts.vectors, threads=embedding.threads)
    return _closeness(asked, embedding, exact.search)


def _add_fusion(build: Build, corpus: Corpus, embedding: _Embedding) -> Closeness:
    """Write what `ByFusion` needs."""
    texts = corpus_room.node_texts(corpus)
    vectors = embedding(texts, "passage")
    _add_searched(build, vectors, *posting_lists(texts))
    ann = HNSW(vectors.shape[1], threads=embedding.threads)
    ann.add(vectors)
    build.add_ann(ann)
    titles = [corpus_room.query_text(ticket) for ticket in corpus.tickets]
    return _closeness(titles, embedding, ann.search)


def _add_searched(
    build: Build, vectors: Vectors, lists: PostingLists, vocabulary: dict[str, int]
) -> None:
    term_bytes, term_ends, term_numbers = sorted_terms(vocabulary)
    build.add(
        vectors=vectors,
        **{f"bm25_{name}": array for name, array in lists._asdict().items()},
        term_bytes=term_bytes,
        term_ends=term_ends,
        term_numbers=term_numbers,
    )


def _closeness(
    titles: list[str],
    embedding: _Embedding,
    nearest: Callable[[Vectors, int], tuple[Ids, Scores]],
) -> Closeness:
    """Calibrated on *titles* as questions, each of the text at its place in what is searched."""
    places = sampled_nodes(titles)
    if not len(places):
        return Closeness(0.0, 0)
    asked = embedding([titles[place] for place in places], "query")
    return calibrated(places, *nearest(asked, 2))


def _redacted(ticket: Ticket) -> Ticket:
    title, body = redact(ticket.title), redact(ticket.body)
    return replace(ticket, title=title, body=body)


def _findable(model: str) -> str:
    path = expanded(model)
    return str(path.resolve()) if path.is_dir() else model
