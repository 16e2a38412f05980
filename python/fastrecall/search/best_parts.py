"""What `Best` searches of the texts of tickets: made once, then kept or asked."""

from __future__ import annotations

from collections.abc import Sequence
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

TITLE_COUNTS = 2.0
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
    order = prs_first(is_pr)
    heads = [cut(titles[node], TITLE_CHARACTERS) for node in order]
    rests = [cut(bodies[node], BODY_CHARACTERS) for node in order]
    vectors = checked(embed(list(map(joined, heads, rests)), "passage"), len(heads))
    lists, vocabulary = posting_lists(
        {"title": heads, "body": rests}, weights={"title": TITLE_COUNTS}, terms=tokens.stems
    )
    return BestParts(vectors, lists), vocabulary


def title_of_question(title: str) -> str:
    """What is embedded of a question that is a title alone.

    >>> title_of_question("Crash as in #12")
    'Crash as in'
    """
    return cut(title, TITLE_CHARACTERS).strip()


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
