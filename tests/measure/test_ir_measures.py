"""The same arithmetic as ir-measures (that is, as trec_eval) on random runs and qrels."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from tests.oracles import metrics as oracle

from fastrecall.measure import Judgments, Metric, parse_metrics, read_qrels, read_run, score_run

ir_measures = pytest.importorskip("ir_measures")

TWINS = {
    "hit@1": "Success@1",
    "hit@5": "Success@5",
    "recall@3": "R@3",
    "recall@20": "R@20",
    "precision@5": "P@5",
    "mrr": "RR",
    "map": "AP",
    "map@4": "AP@4",
    "ndcg": "nDCG",
    "ndcg@5": "nDCG@5",
    "ndcg@100": "nDCG@100",
}

RunRows = dict[str, dict[str, float]]
QrelRows = dict[str, dict[str, int]]


def random_case(seed: int) -> tuple[RunRows, QrelRows]:
    """Ties, unjudged documents, empty and unjudged queries, grades from -1 to 3."""
    generator = np.random.default_rng(seed)
    docs = [f"d{number}" for number in range(int(generator.integers(3, 60)))]
    queries = [f"q{number}" for number in range(int(generator.integers(1, 12)))]
    run: RunRows = {}
    qrels: QrelRows = {}
    for query in queries:
        returned = generator.permutation(docs)[: generator.integers(0, len(docs) + 1)]
        scores = generator.random(len(returned))
        if generator.random() < 0.5:
            scores = np.round(scores, 1)
        elif generator.random() < 0.3:
            scores = 0.5 + scores * 1e-7
        if len(returned):
            run[query] = {
                str(doc): float(score) for doc, score in zip(returned, scores, strict=True)
            }
        judged = generator.permutation(docs)[: generator.integers(0, len(docs) + 1)]
        if len(judged):
            grades = generator.choice([-1, 0, 0, 1, 1, 2, 3], len(judged))
            qrels[query] = {str(doc): int(grade) for doc, grade in zip(judged, grades, strict=True)}
    qrels.setdefault("q0", {docs[0]: 1})
    return run, qrels


def write(folder: Path, run: RunRows, qrels: QrelRows) -> tuple[Path, Path]:
    run_file, qrels_file = folder / "run", folder / "qrels"
    run_file.write_text(
        "".join(
            f"{query} Q0 {doc} 0 {score!r} test\n"
            for query, found in run.items()
            for doc, score in found.items()
        )
    )
    qrels_file.write_text(
        "".join(
            f"{query} 0 {doc} {grade}\n"
            for query, judged in qrels.items()
            for doc, grade in judged.items()
        )
    )
    return run_file, qrels_file


@pytest.mark.parametrize("block", range(10))
def test_scores_equal_ir_measures(tmp_path: Path, block: int) -> None:
    metrics = parse_metrics(TWINS)
    twins = {ir_measures.parse_measure(twin): name for name, twin in TWINS.items()}
    for seed in range(20 * block, 20 * block + 20):
        run, qrels = random_case(seed)
        run_file, qrels_file = write(tmp_path, run, qrels)
        expected: dict[str, dict[str, float]] = defaultdict(dict)
        for row in ir_measures.pytrec_eval.iter_calc(list(twins), qrels, run):
            expected[twins[row.measure]][row.query_id] = row.value

        scores = score_run(read_run(run_file), read_qrels(qrels_file), metrics)

        for metric in metrics:
            ours = dict(zip(scores.queries, scores.values[metric].tolist(), strict=True))
            assert ours == pytest.approx(expected[str(metric)], rel=1e-12, abs=1e-12), (
                seed,
                str(metric),
            )


def test_arrays_and_files_give_the_same_scores(tmp_path: Path) -> None:
    run, qrels = random_case(7)
    files = write(tmp_path, run, qrels)
    metrics = parse_metrics([*TWINS, "chain_hit@5", "mrr@3"])
    from_files = score_run(read_run(files[0]), read_qrels(files[1]), metrics)

    docs = sorted({doc for found in [*run.values(), *qrels.values()] for doc in found})
    number = {doc: at for at, doc in enumerate(docs)}
    rankings = np.full((len(qrels), len(docs)), -1, np.int32)
    for row, query in enumerate(qrels):
        found = run.get(query, {})
        order = sorted(found, key=lambda doc: (np.float32(found[doc]), doc), reverse=True)
        rankings[row, : len(order)] = [number[doc] for doc in order]
    gold = [{number[doc]: grade for doc, grade in judged.items()} for judged in qrels.values()]
    judgments = Judgments.from_dicts(gold)
    for metric in metrics:
        ours = metric.evaluate(rankings, judgments)
        assert ours.tolist() == from_files.values[metric].tolist()
    listed = [[doc for doc in row if doc >= 0] for row in rankings.tolist()]
    expected = [
        oracle.mrr(ranking, wanted, 3) for ranking, wanted in zip(listed, gold, strict=True)
    ]
    assert from_files.values[Metric("mrr", 3)].tolist() == expected
