"""Small corpora made of a few sentences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from fastrecall.corpus import make_corpus
from fastrecall.types import Corpus, Ticket, WindowCut

# fmt: off
WORDS = (
    "crash", "login", "page", "token", "cache", "slow", "query", "index", "lock", "retry",
    "backup", "restore", "cursor", "timeout", "panic", "memory", "leak", "upload", "queue",
    "worker", "session", "header", "parser", "unicode",
)
# fmt: on


@pytest.fixture
def random_corpus() -> Callable[[int, int], Corpus]:
    """A function (size, seed) → corpus whose later half are PRs; every second one closes issues."""

    def make(size: int, seed: int) -> Corpus:
        rng = np.random.default_rng(seed)
        tickets = []
        issues = size // 2
        for number in range(1, size + 1):
            title = " ".join(rng.choice(WORDS, 4))
            body = " ".join(rng.choice(WORDS, 8))
            kind = "issue" if number <= issues else "pr"
            if kind == "pr" and rng.random() < 0.5:
                closed = rng.integers(1, issues + 1, rng.integers(1, 3))
                body += "".join(f"\nFixes #{n}" for n in closed)
            tickets.append(Ticket("", kind, number, title, body, 1_600_000_000 + 60 * number))
        cut = WindowCut(issues, size - issues, issues, size - issues)
        return make_corpus(tickets, name="random", cut=cut, notes=())

    return make
