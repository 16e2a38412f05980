"""Gold pairs as CSV: what is accepted can be written and read again."""

from __future__ import annotations

from tests.fuzz.common import expected_errors, must_hold, scratch_file

from fastrecall.corpus import corpus_from_gold, gold_csv, gold_from_rows, read_gold


def run(data: bytes) -> None:
    with expected_errors():
        rows = read_gold(scratch_file("gold.csv", data))
        corpus = corpus_from_gold(rows)
        gold = gold_from_rows(corpus, rows)
        must_hold(0 < len(gold.pairs) <= len(rows), "pairs")
        written = scratch_file("again.csv", gold_csv(gold).encode("utf-8", "surrogatepass"))
        again = gold_from_rows(corpus, read_gold(written))
        must_hold(again.pairs == gold.pairs, "other pairs after writing")
