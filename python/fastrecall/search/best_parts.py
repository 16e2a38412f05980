"""What `Best` searches of the texts of tickets: made once, then kept or asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from fastrecall.errors import InputError
from fastrecall.search import tokens
from fastrecall.search.bm25 import PostingLists, posting_lists
from fastrecall.types import Vectors

TITLE_CHARACTERS = 120
BODY_CHARACTERS = 300
"""What is read of a ticket, as in the text of a node; more, in vectors of its own, adds nothing."""

FIELD_WEIGHTS = {"title": 2.0}
"""A word of a title counts as two of the body: flat from 1 to 4."""


class Embedder(Protocol):
    """Texts to unit vectors ``[n, d]``; *kind* tells whether they are to be found or asked."""

    def __call__(self, texts: Sequence[str], kind: Literal["passage", "query"]) -> Vectors:
        """Embed *texts*."""


class BestParts(NamedTuple):
    """All of the texts that `Best` searches: what is kept on disk. PRs come first in all of it.

    ``vectors`` float32 ``[n, d]`` of titles and bodies, ``lists`` of their words.
    """

    vectors: Vectors
    lists: PostingLists


def best_parts(
    titles: Sequence[str], bodies: Sequence[str], *, is_pr: npt.NDArray[np.bool_], embed: Embedder
) -> tuple[BestParts, dict[str, int]]:
    """Embed the nodes' texts and count their words; returns the parts and the number of each term.

    Arguments and errors are those of `Best`.

    >>> ones = lambda texts, kind: np.ones((len(texts), 2), np.float32)
    >>> is_pr = np.array([False, True])
    >>> parts, vocabulary = best_parts(["Crash", "Guard"], ["", ""], is_pr=is_pr, embed=ones)
    >>> vocabulary, parts.vectors.shape
    ({'guard': 0, 'crash': 1}, (2, 2))
    """
    if not len(titles) == len(bodies) == len(is_pr):
        raise InputError(
            f"Best: {len(titles)} titles, {len(bodies)} bodies, {len(is_pr)} kinds; "
            "expected one of each a node"
        )
    fields = cut_texts(zip(titles, bodies, strict=True), is_pr=is_pr)
    vectors = checked(embed(list(map(joined, *fields.values())), "passage"), len(titles))
    lists, vocabulary = posting_lists(fields, weights=FIELD_WEIGHTS, terms=tokens.stems)
    return BestParts(vectors, lists), vocabulary


def cut_texts(
    texts: Iterable[tuple[str, str]], *, is_pr: npt.NDArray[np.bool_]
) -> dict[str, list[str]]:
    """What is read of titles and bodies, one of each a node: ``title`` and ``body``, PRs first.

    >>> cut_texts([("Crash as in #1", "x"), ("Guard", "")], is_pr=np.array([False, True]))
    {'title': ['Guard', 'Crash as in '], 'body': ['', 'x']}
    """
    cuts = [(cut(title, TITLE_CHARACTERS), cut(body, BODY_CHARACTERS)) for title, body in texts]
    order = prs_first(is_pr).tolist()
    return {
        "title": [cuts[node][0] for node in order],
        "body": [cuts[node][1] for node in order],
    }


def prs_first(is_pr: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """The node at each place of `BestParts`: PRs, then issues, in node order.

    >>> prs_first(np.array([False, True, False])).tolist()
    [1, 0, 2]
    """
    return np.argsort(~np.asarray(is_pr, dtype=np.bool_), kind="stable")


def cut(text: str, characters: int) -> str:
    """The first characters of a text, without references to tickets."""
    return tokens.mask_references(text)[:characters]


def joined(head: str, rest: str) -> str:
    """A title and a body as one text, either of which may be blank."""
    return f"{head}\n{rest}" if head.strip() and rest.strip() else head.strip() or rest


def checked(vectors: Vectors, count: int) -> Vectors:
    """What an embedder gave, one row a text.

    Raises:
        InputError: it gave something else.
    """
    vectors = np.ascontiguousarray(vectors, dtype=np.float32)
    if vectors.ndim != 2 or len(vectors) != count:
        raise InputError(f"Best: the embedder gave {vectors.shape} for {count} texts")
    return vectors
