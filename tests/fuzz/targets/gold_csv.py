"""Gold pairs as CSV: what is accepted can be written and read again, and compared with the pairs
that the links of a corpus of two repositories make."""

from __future__ import annotations

from functools import cache

from tests.fuzz.common import expected_errors, must_hold, scratch_file

from fastrecall.corpus import (
    compare_gold,
    corpus_from_gold,
    find_links,
    gold_csv,
    gold_from_links,
    gold_from_rows,
    links_from_gold,
    make_corpus,
    read_gold,
)
from fastrecall.types import Corpus, Gold, Ticket


@cache
def known() -> tuple[Corpus, Gold]:
    tickets = [
        Ticket(repo, kind, number, "Crash", "Fixes #5" if kind == "pr" else "", number)
        for repo in ("a/b", "A/c")
        for kind, number in (("issue", 5), ("pr", 7))
    ]
    corpus = make_corpus(tickets, name="known")
    return corpus, gold_from_links(corpus, find_links(corpus))


def run(data: bytes) -> None:
    with expected_errors():
        rows = read_gold(scratch_file("gold.csv", data))
        corpus = corpus_from_gold(rows)
        gold = gold_from_rows(corpus, rows)
        must_hold(0 < len(gold.pairs) <= len(rows), "pairs")
        written = scratch_file("again.csv", gold_csv(gold).encode("utf-8", "surrogatepass"))
        again = gold_from_rows(corpus, read_gold(written))
        must_hold(again.pairs == gold.pairs, "other pairs after writing")
        corpus, found = known()
        given = gold_from_rows(corpus, rows)
        links = links_from_gold(corpus, given)
        must_hold(len(links.issues) <= len(given.pairs), "more links than pairs")
        left, right = map(len, compare_gold(found, given))
        must_hold(len(found) - left == len(given) - right, "another number in common")
        must_hold(all(compare_gold(found, given).lines()), "an empty line")
