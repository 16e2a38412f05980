"""A TREC run and qrels, in one input: read, scored against each other, written and read again; as
gzip where the file is to be called so."""

from __future__ import annotations

from tests.fuzz.common import expected_errors, must_hold, scratch_file, scratch_folder

from fastrecall.measure import parse_metrics, read_qrels, read_run, score_run, write_run
from fastrecall.measure.trec import Run

BETWEEN = b"\n----\n"
METRICS = parse_metrics(["chain_hit@2", "mrr", "ndcg@10", "recall@5", "map"])


def run(data: bytes) -> None:
    first, _, second = data.partition(BETWEEN)
    ranked = None
    with expected_errors():
        ranked = read_run(scratch_file("run.gz", first))
        check(ranked)
    with expected_errors():
        qrels = read_qrels(scratch_file("qrels", second))
        must_hold(len(qrels.queries) == len(set(qrels.queries)), "query twice")
        if ranked is not None:
            for values in score_run(ranked, qrels, METRICS).values.values():
                must_hold(((values >= 0) & (values <= 1)).all(), "score outside of 0 to 1")


def check(ranked: Run) -> None:
    must_hold(len(ranked.offsets) == len(ranked.queries) + 1, "offsets")
    must_hold(((ranked.ids >= 0) & (ranked.ids < max(len(ranked.docs), 1))).all(), "ids")
    document = {}
    for at, query in enumerate(ranked.queries):
        places = slice(*ranked.offsets[at : at + 2])
        scores = ranked.scores[places]
        must_hold((scores[:-1] >= scores[1:]).all(), "order")
        names = [ranked.docs[id] for id in ranked.ids[places].tolist()]
        document[query] = dict(zip(names, scores.tolist(), strict=True))
    if 0 < len(ranked.ids) < 20:
        path = scratch_folder() / ("again.gz" if len(ranked.ids) % 2 else "again")
        with expected_errors():  # infinite as a 32-bit number; white space of Unicode in a name
            write_run(path, document)
            again = read_run(path)
            must_hold(
                {
                    query: [again.docs[id] for id in again.ids[slice(*again.offsets[at : at + 2])]]
                    for at, query in enumerate(again.queries)
                }
                == {query: list(found) for query, found in document.items()},
                "another ranking after writing",
            )
