"""``fastrecall score``: somebody else's ranking, the same arithmetic."""

from __future__ import annotations

import sys

import click

from fastrecall.cli._kinds import Place
from fastrecall.cli._output import print_json

DEFAULT_METRICS = ("hit@1", "hit@10", "mrr", "ndcg@10", "recall@10", "map")


@click.command("score")
@click.option("--run", "run_file", type=Place(), required=True, help="TREC run file.")
@click.option("--qrels", "qrels_file", type=Place(), required=True, help="TREC qrels file.")
@click.option(
    "--metric",
    "names",
    multiple=True,
    metavar="NAME",
    help=f"Such as ndcg@10; repeatable.  [default: {', '.join(DEFAULT_METRICS)}]",
)
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def command(run_file: str, qrels_file: str, names: tuple[str, ...], as_json: bool) -> None:
    """Score a ranking in TREC form with the arithmetic of `eval`.

    Queries that the run lacks count 0. Ties are broken as trec_eval does: by score, then by
    document name, descending; the rank column is ignored.
    """
    from fastrecall._term import note, output_width
    from fastrecall.measure import parse_metrics, read_qrels, read_run, score_run
    from fastrecall.report.format import plural
    from fastrecall.report.score_table import render_scores

    metrics = parse_metrics(names or DEFAULT_METRICS)
    scores = score_run(read_run(run_file), read_qrels(qrels_file), metrics)
    for what, queries in (
        ("not in the run, counted 0", scores.absent),
        ("in the run but not judged, left out", scores.unjudged),
    ):
        if queries:
            note(f"{plural(len(queries), 'query', 'queries')} {what}: {', '.join(queries[:5])}")
    rows = [
        {"metric": str(metric), **estimate.as_dict()}
        for metric, estimate in scores.estimates().items()
    ]
    if as_json:
        print_json(rows)
    else:
        width, color = output_width()
        sys.stdout.write(render_scores(rows, width=width, color=color))
