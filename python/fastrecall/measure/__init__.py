"""Pure functions of rankings and gold: metrics, intervals, tests, TREC files.

Nothing here knows where a ranking came from, and nothing heavier than numpy is imported.
"""

from fastrecall.measure.bootstrap import bootstrap_difference, bootstrap_mean, bootstrap_means
from fastrecall.measure.estimate import Estimate, estimate
from fastrecall.measure.intervals import minimum_detectable_effect, newcombe_paired, wilson
from fastrecall.measure.judgments import Found, Judgments, locate
from fastrecall.measure.metrics import Metric, parse_metrics
from fastrecall.measure.paired import PairedHits, holm, mcnemar, permutation
from fastrecall.measure.score import RunScores, score_run
from fastrecall.measure.trec import Qrels, Run, read_qrels, read_run, write_qrels, write_run

__all__ = [
    "Estimate",
    "Found",
    "Judgments",
    "Metric",
    "PairedHits",
    "Qrels",
    "Run",
    "RunScores",
    "bootstrap_difference",
    "bootstrap_mean",
    "bootstrap_means",
    "estimate",
    "holm",
    "locate",
    "mcnemar",
    "minimum_detectable_effect",
    "newcombe_paired",
    "parse_metrics",
    "permutation",
    "read_qrels",
    "read_run",
    "score_run",
    "wilson",
    "write_qrels",
    "write_run",
]
