"""Which tickets name which: every reference in a title or body, closing or not."""

from __future__ import annotations

import re
from array import array

import numpy as np

from fastrecall.corpus import own_repository
from fastrecall.corpus.github import REFERENCE, reference_of
from fastrecall.corpus.links import repository_names
from fastrecall.types import Corpus, Ids

_ANY_REFERENCE = re.compile(rf"(?<![\w/&])(?:{REFERENCE})", re.VERBOSE)


def find_mentions(corpus: Corpus) -> Ids:
    """Pairs (ticket, ticket that it names) as node ids ``[m, 2]``, sorted, each once.

    Issues and PRs alike, in both places; references to other repositories and to tickets outside
    the corpus are left out.

    >>> from fastrecall.corpus import make_corpus
    >>> from fastrecall.types import Ticket
    >>> tickets = [Ticket("", "issue", 5, "Crash", "since #7", 0), Ticket("", "pr", 7, "x", "", 0)]
    >>> find_mentions(make_corpus(tickets, name="")).tolist()
    [[0, 1]]
    """
    names = repository_names(corpus, own_repository(corpus))
    sources, targets = array("i"), array("i")
    for node, ticket in enumerate(corpus.tickets):
        text = f"{ticket.title}\n{ticket.body}".lower()
        named = set()
        for match in _ANY_REFERENCE.finditer(text):
            reference = reference_of(match)
            repo = names.get(reference.repo) if reference.repo else ticket.repo
            if repo is None:
                continue
            for kind in ("issue", "pr"):
                other = corpus.node(repo, kind, reference.number)
                if other is not None and other != node:
                    named.add(other)
        sources.extend([node] * len(named))
        targets.extend(sorted(named))
    return np.stack([np.array(sources, np.int32), np.array(targets, np.int32)], axis=1)
