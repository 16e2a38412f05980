"""Score somebody else's run against qrels with the arithmetic of our own evaluations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from fastrecall.measure.estimate import Estimate, estimate
from fastrecall.measure.judgments import Found
from fastrecall.measure.metrics import Metric
from fastrecall.measure.trec import Qrels, Run


@dataclass(frozen=True)
class RunScores:
    """The scores of a run: every judged query counts, whether the run answered it or not."""

    queries: tuple[str, ...]
    """Judged queries, in the order of the qrels."""
    metrics: tuple[Metric, ...]
    found: Found
    absent: tuple[str, ...]
    """Judged queries that the run does not have: they score 0."""
    unjudged: tuple[str, ...]
    """Queries of the run without judgments: they are ignored."""
    unanswerable: tuple[str, ...]
    """Judged queries without any relevant document: they score 0 whatever is returned."""

    @cached_property
    def values(self) -> Mapping[Metric, npt.NDArray[np.float64]]:
        """Scores by metric, ``[queries]``, or one a relevant document for ``chain_hit``."""
        return {metric: metric.score(self.found) for metric in self.metrics}

    def estimates(self, *, samples: int = 10_000, seed: int = 0) -> dict[Metric, Estimate]:
        """Means with their intervals, by metric; see `estimate`."""
        return {
            metric: estimate(metric, self.found, samples=samples, seed=seed)
            for metric in self.metrics
        }


def score_run(run: Run, qrels: Qrels, metrics: Iterable[Metric]) -> RunScores:
    """Score *run* against *qrels*, matching queries and documents by name.

    Like trec_eval with ``-c``: the mean is over all judged queries, and one that the run does not
    have scores 0.

    Args:
        run: from `read_run`.
        qrels: from `read_qrels`.
        metrics: from `parse_metrics`.

    >>> import tempfile, pathlib
    >>> from fastrecall.measure.trec import read_qrels, read_run
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "run").write_text("q1 Q0 d2 1 0.9 demo\\nq1 Q0 d1 2 0.5 demo\\n")
    >>> _ = (folder / "qrels").write_text("q1 0 d1 1\\nq2 0 d2 1\\n")
    >>> scores = score_run(
    ...     read_run(folder / "run"), read_qrels(folder / "qrels"), [Metric.parse("mrr")]
    ... )
    >>> scores.values[Metric.parse("mrr")], scores.absent
    (array([0.5, 0. ]), ('q2',))
    """
    judgments = qrels.judgments
    in_run = set(run.queries)
    judged = set(qrels.queries)
    return RunScores(
        qrels.queries,
        tuple(metrics),
        Found(judgments, _ranks(run, qrels)),
        absent=tuple(query for query in qrels.queries if query not in in_run),
        unjudged=tuple(query for query in run.queries if query not in judged),
        unanswerable=tuple(qrels.queries[at] for at in np.flatnonzero(judgments.counts == 0)),
    )


def _ranks(run: Run, qrels: Qrels) -> npt.NDArray[np.int64]:
    """Rank of each gold item in its query's ranking; 0 where it was not returned."""
    judgments = qrels.judgments
    if not len(run.ids):
        return np.zeros(len(judgments.ids), np.int64)
    query_number = {name: at for at, name in enumerate(run.queries)}
    doc_number = {name: at for at, name in enumerate(run.docs)}
    query = np.array([query_number.get(name, -1) for name in qrels.queries], np.int64)
    doc = np.array([doc_number.get(name, -1) for name in qrels.docs], np.int64)

    # One number a (query, document); a gold item that the run does not know gets -1.
    rows = np.repeat(np.arange(len(run.queries)), np.diff(run.offsets))
    returned = rows * len(run.docs) + run.ids
    gold_query, gold_doc = query[judgments.queries], doc[judgments.ids]
    known = (gold_query >= 0) & (gold_doc >= 0)
    wanted = np.where(known, gold_query * len(run.docs) + gold_doc, -1)

    order = np.argsort(returned)
    at = order[np.minimum(np.searchsorted(returned, wanted, sorter=order), len(order) - 1)]
    ranks = at - run.offsets[rows[at]] + 1
    return np.where(returned[at] == wanted, ranks, 0)
