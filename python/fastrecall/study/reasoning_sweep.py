"""Many settings of the reasoning step on one set of queries, and which of them differ.

The published study varied one setting at a time: `PUBLISHED_AXES`. Differences are tested query by
query, since on few queries most of them are noise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from fastrecall.config import ReasoningSettings
from fastrecall.corpus.code import CodeCorpus
from fastrecall.corpus.code_gold import CodeGold
from fastrecall.measure import holm, mcnemar, newcombe_paired, wilson
from fastrecall.measure.paired import PairedHits
from fastrecall.search.reasoning import Reasoner
from fastrecall.study.code_eval import REASONING, evaluate_code
from fastrecall.study.record import Record

PUBLISHED_AXES: Mapping[str, tuple[Any, ...]] = {
    "reasoning_weight": (1.0, 2.0, 3.0, 5.0),
    "max_candidates": (15, 25, 35, 40),
    "context_level": ("full", "snippets", "signatures"),
    "temperature": (1.0, 0.3, 0.0),
}

SIGNIFICANCE = 0.05


def one_at_a_time(
    base: ReasoningSettings, axes: Mapping[str, Sequence[Any]] = PUBLISHED_AXES
) -> dict[str, ReasoningSettings]:
    """The base setting, and every setting that differs from it along one axis.

    >>> from fastrecall.config import load_config
    >>> list(one_at_a_time(load_config().reasoning, {"max_candidates": (15, 25)}))
    ['base', 'max_candidates=15']
    """
    points = {"base": base}
    for axis, values in axes.items():
        for value in values:
            changed: ReasoningSettings = replace(base, **{axis: value})
            if changed != base:
                points[f"{axis}={value}"] = changed
    return points


def sweep_reasoning(
    corpus: CodeCorpus,
    gold: CodeGold,
    points: Mapping[str, ReasoningSettings],
    *,
    reasoner: Callable[[ReasoningSettings], Reasoner] = Reasoner,
    **options: Any,
) -> dict[str, Record]:
    """One record a point; *reasoner* makes the judge from its settings.

    ``options`` are those of `evaluate_code`. Vectors and answers come from their caches, so only
    what a point changes is asked again: a weight, for one, asks nothing.
    """
    records = {}
    for name, settings in points.items():
        judge = reasoner(settings)
        try:
            records[name] = evaluate_code(corpus, gold, reasoner=judge, **options)
        finally:
            judge.close()
    return records


def against_base(records: Mapping[str, Record], *, places: int = 5) -> list[dict[str, Any]]:
    """One row a point: its numbers, and its difference in Hit@*places* to the first point.

    ``verdict`` is ``noise`` where the exact McNemar test, after Holm's correction over all points,
    cannot tell the two apart.
    """
    names = list(records)
    hits = {name: _hits(records[name], places) for name in names}
    base = hits[names[0]]
    pairs = {name: PairedHits.of(hits[name], base) for name in names[1:]}
    p_values = holm([mcnemar(of.first, of.second) for of in pairs.values()])
    adjusted = dict(zip(pairs, map(float, p_values), strict=True))
    rows = []
    for name in names:
        arm = records[name]["protocols"]["code"]["arms"][REASONING]
        count, n = sum(hits[name]), len(base)
        row: dict[str, Any] = {
            "point": name,
            "hits": count,
            "queries": n,
            "rate": count / n,
            "wilson95": list(wilson(count, n)),
            "mrr": arm["mrr"],
            "mrr_ci95": arm["mrr_ci95"],
            "recall@10": arm["recall@10"],
            "failed": records[name]["reasoning"]["failed"],
            "verdict": "base",
        }
        if name in pairs:
            row |= {
                "difference": (pairs[name].first - pairs[name].second) / n,
                "ci95": list(newcombe_paired(*pairs[name])),
                "holm_p": adjusted[name],
                "verdict": "differs" if adjusted[name] < SIGNIFICANCE else "noise",
            }
        rows.append(row)
    return rows


def _hits(record: Record, places: int) -> list[bool]:
    ranks = [row["ranks"]["code"][REASONING] for row in record["queries"]]
    return [rank is not None and rank <= places for rank in ranks]
