"""Link sources side by side: how many pairs each finds, and which they share."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fastrecall.types import LINK_SOURCES, Corpus, Links, LinkSource


class Difference(NamedTuple):
    """Pairs (issue node, PR node) that one set of sources finds and another does not."""

    gained: list[tuple[int, int]]
    lost: list[tuple[int, int]]


def link_overlap(corpus: Corpus, links: Links) -> dict[str, Any]:
    """The overlap of the link sources, as the record holds it.

    ``links`` are those of all sources. ``sources`` tells of each source how many ``pairs`` it
    finds, how many of them ``only`` it finds, and whether the data speaks of it (``in_data``);
    ``both[a][b]`` counts the pairs that a and b find. ``elsewhere`` counts what led to no issue of
    the corpus, by source and reason.

    >>> links = Links(np.array([0, 1]), np.array([2, 3]), np.array([0b11, 0b01], dtype=np.uint8))
    >>> from fastrecall.corpus import make_corpus
    >>> overlap = link_overlap(make_corpus([], name="none"), links)
    >>> overlap["pairs"], overlap["both"]["published"]["github"], overlap["sources"]["published"]
    (2, 1, {'pairs': 2, 'only': 1, 'in_data': True})
    """
    found = {
        source: (links.sources >> place & 1).astype(np.bool_)
        for place, source in enumerate(LINK_SOURCES)
    }
    alone = np.sum(list(found.values()), axis=0) == 1
    told = corpus.columns.tells_closes
    return {
        "pairs": len(links),
        "sources": {
            source: {
                "pairs": int(mine.sum()),
                "only": int((mine & alone).sum()),
                "in_data": told or source != "linked",
            }
            for source, mine in found.items()
        },
        "both": {
            source: {other: int((mine & theirs).sum()) for other, theirs in found.items()}
            for source, mine in found.items()
        },
        "elsewhere": {
            note: count
            for note, count in links.notes.items()
            if note.partition(".")[0] in LINK_SOURCES
        },
    }


def difference(links: Links, base: LinkSource, sources: tuple[LinkSource, ...]) -> Difference:
    """What *sources* gain and lose against *base*.

    >>> links = Links(np.array([0, 1]), np.array([2, 3]), np.array([0b10, 0b01], dtype=np.uint8))
    >>> difference(links, "published", ("github",))
    Difference(gained=[(0, 2)], lost=[(1, 3)])
    """
    before, after = links.of(base).pairs(), links.of(*sources).pairs()
    return Difference(sorted(after - before), sorted(before - after))
