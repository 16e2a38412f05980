"""Which issues repeat another one, as their texts, labels and states say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

from fastrecall.corpus.github import REFERENCE, Reference, reference_of
from fastrecall.corpus.links import own_repository, repository_names
from fastrecall.corpus.markdown import mask
from fastrecall.types import Corpus, Ticket

Evidence: TypeAlias = Literal["text", "label", "state"]

_DUPLICATE_OF = re.compile(
    rf"\b(?:(?:duplicates?|dup|dupe|duplicated?[ ]issue)[ \t]+(?:of|to)|duplicates)"
    rf"(?:[ \t]+(?:issue|bug))?:?[ \t\xa0]+(?:{REFERENCE})",
    re.VERBOSE,
)
_ANY_REFERENCE = re.compile(rf"(?<![\w/&])(?:{REFERENCE})", re.VERBOSE)
_DOUBT = re.compile(
    r"(?:\bnot|n't|\bno|\bpossibl[ey]|\bpotential(?:ly)?|\bmaybe|\bmight|\bmay|\bcould|\bprobabl[ey]"
    r"|\blikely|\bperhaps|\bseems?|\blooks?|\bif|\bwhether)\b[^.!?\n]*\Z"
)
_DOUBT_REACHES = 60
_LABEL = re.compile(r"\bduplicate\b|\bdup\b", re.IGNORECASE)


class Duplicate(NamedTuple):
    """Issue node ``issue`` repeats issue node ``original``."""

    issue: int
    original: int
    evidence: Evidence


def find_duplicates(corpus: Corpus) -> list[Duplicate]:
    """The duplicates among the corpus' issues, sorted by (issue, original), each pair once.

    An issue repeats another when

    * its body or a comment on it says "duplicate of #5" (dup, dupe; any form of reference) outside
      code and quotes, without a not, maybe or possibly before it in the sentence: ``text``;
    * its state reason (``state``) or a label (``label``) says duplicate, and its texts name an
      original: the last one after "duplicate of", however doubtful, or else the only other issue
      that they refer to.

    When two issues are said to repeat each other, the younger repeats the older.

    >>> from fastrecall.corpus.build import make_corpus
    >>> first, again = (Ticket("", "issue", n, "Crash", "", n) for n in (5, 6))
    >>> again = Ticket("", "issue", 6, "It crashes", "Duplicate of #5", 6)
    >>> find_duplicates(make_corpus([first, again], name="tiny"))
    [Duplicate(issue=1, original=0, evidence='text')]
    """
    names = repository_names(corpus, own_repository(corpus))
    found: dict[tuple[int, int], Evidence] = {}
    for node, ticket in enumerate(corpus.tickets):
        if ticket.kind == "issue":
            for reference, evidence in _originals(ticket):
                name = names.get(reference.repo) if reference.repo else ticket.repo
                original = None if name is None else corpus.node(name, "issue", reference.number)
                if original is not None and original != node:
                    found.setdefault((node, original), evidence)
    return [
        Duplicate(issue, original, evidence)
        for (issue, original), evidence in sorted(found.items())
        if (original, issue) not in found or _younger(corpus, issue, original)
    ]


def _younger(corpus: Corpus, issue: int, other: int) -> bool:
    created_at = corpus.created_at
    return bool((created_at[issue], issue) > (created_at[other], other))


def _originals(ticket: Ticket) -> Iterator[tuple[Reference, Evidence]]:
    marked = _mark(ticket)
    texts = [text.lower() for text in (ticket.body, *ticket.comments)]
    if not marked and not any("dup" in text for text in texts):
        return
    texts = [mask(text) for text in texts]
    doubtful = None
    sure = False
    for text in texts:
        for match in _DUPLICATE_OF.finditer(text):
            before = text[max(0, match.start() - _DOUBT_REACHES) : match.start()]
            if _DOUBT.search(before):
                doubtful = reference_of(match)
            else:
                sure = True
                yield reference_of(match), "text"
    if sure or not marked:
        return
    if doubtful is not None:
        yield doubtful, marked
        return
    others = {
        (reference.repo, reference.number): reference
        for text in texts
        for reference in map(reference_of, _ANY_REFERENCE.finditer(text))
        if (reference.repo, reference.number) != ("", ticket.number)
    }
    if len(others) == 1:
        yield next(iter(others.values())), marked


def _mark(ticket: Ticket) -> Evidence | None:
    """What marks an issue as a duplicate, although it may not say of which."""
    if ticket.state_reason == "DUPLICATE":
        return "state"
    return "label" if any(map(_LABEL.search, ticket.labels)) else None
