"""Corpus → index: everything that serving needs, in one folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from fastrecall import _core
from fastrecall import corpus as corpus_room
from fastrecall.embedding import embed, resolve_model
from fastrecall.search.bm25 import posting_lists
from fastrecall.search.exact import ExactIndex
from fastrecall.search.hnsw import HNSW
from fastrecall.search.index.closeness import Closeness, calibrated, sampled_nodes
from fastrecall.search.index.folder import new_build
from fastrecall.search.index.place import Manifest, index_folder
from fastrecall.search.index.strings import sorted_terms
from fastrecall.search.index.tickets import ticket_arrays
from fastrecall.search.redaction import redact
from fastrecall.types import Corpus, LinkSource, Ticket, Vectors

ANN_FROM = 50_000
"""Nodes from which vectors are searched approximately: below, exact search takes 2 ms a question
and opens in less time than a graph."""

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
    with new_build(place) as build:
        texts = corpus_room.node_texts(corpus)
        vectors = embed(texts, model=model, threads=threads, cache=cache)
        lists, vocabulary = posting_lists(texts)
        term_bytes, term_ends, term_numbers = sorted_terms(vocabulary)
        build.add(
            **ticket_arrays(corpus),
            vectors=vectors,
            **{f"bm25_{name}": array for name, array in lists._asdict().items()},
            term_bytes=term_bytes,
            term_ends=term_ends,
            term_numbers=term_numbers,
            link_issues=found.issues,
            link_prs=found.prs,
        )
        del lists, vocabulary
        ann = None
        if len(corpus) >= ANN_FROM:
            ann = HNSW(vectors.shape[1], threads=threads)
            ann.add(vectors)
            build.add_ann(ann)
        titles = [corpus_room.query_text(ticket) for ticket in corpus.tickets]
        nodes = sampled_nodes(titles)
        asked = embed(
            [titles[node] for node in nodes],
            model=model,
            threads=threads,
            cache=cache,
            kind="query",
            progress=False,
        )
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
                closeness=_closeness(nodes, asked, vectors, ann, threads).as_dict(),
                source=source,
                origins=tuple(origins),
                versions={"fastrecall": _core.__version__, "numpy": np.__version__},
            )
        )


def _redacted(ticket: Ticket) -> Ticket:
    title, body = redact(ticket.title), redact(ticket.body)
    return replace(ticket, title=title, body=body)


def _findable(model: str) -> str:
    path = Path(model).expanduser()
    return str(path.resolve()) if path.is_dir() else model


def _closeness(
    nodes: np.ndarray, asked: Vectors, vectors: Vectors, ann: HNSW | None, threads: int | None
) -> Closeness:
    if not len(nodes):
        return Closeness(0.0, 0)
    index = ExactIndex(vectors, threads=threads) if ann is None else ann
    return calibrated(nodes, *index.search(asked, 2))
