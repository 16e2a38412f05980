"""Many settings of the reasoning step on one set of queries, and which of them differ.

The published study varied one setting at a time: `PUBLISHED_AXES`. Differences are tested query by
query, since on few queries most of them are noise.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from fastrecall.config import ReasoningSettings, reasoning_value
from fastrecall.corpus.code import CodeCorpus
from fastrecall.corpus.code_gold import CodeGold
from fastrecall.errors import InputError
from fastrecall.measure import holm, mcnemar, newcombe_paired, wilson
from fastrecall.measure.paired import PairedHits
from fastrecall.search.arms import REASONING
from fastrecall.search.reasoning import Reasoner
from fastrecall.study.code_eval import evaluate_code
from fastrecall.study.record import Record
from fastrecall.study.settings import one_of

PUBLISHED_AXES: Mapping[str, tuple[Any, ...]] = {
    "reasoning_weight": (1.0, 2.0, 3.0, 5.0),
    "max_candidates": (15, 25, 35, 40),
    "context_level": ("full", "snippets", "signatures"),
    "temperature": (1.0, 0.3, 0.0),
}

SIGNIFICANCE = 0.05


def parse_axes(specs: Sequence[str]) -> Mapping[str, Sequence[Any]]:
    """Axes given as ``AXIS=VALUE,VALUE…``; the published ones when there is none.

    Raises:
        InputError: an unknown axis, a value that the setting does not take, an axis given twice.

    >>> parse_axes(["max_candidates=15,25"])
    {'max_candidates': [15, 25]}
    """
    axes: dict[str, list[Any]] = {}
    for spec in specs:
        axis, _, values = spec.partition("=")
        if not values:
            raise InputError(f"grid '{spec}' cannot be read; expected AXIS=VALUE,VALUE…")
        one_of("axis", axis, tuple(PUBLISHED_AXES))
        if axis in axes:
            raise InputError(f"axis '{axis}' is given twice; put all its values into one --grid")
        axes[axis] = [
            reasoning_value(axis, _number_or_text(text), origin=f"grid '{spec}'")
            for text in values.split(",")
        ]
    return axes or PUBLISHED_AXES


def _number_or_text(text: str) -> float | str:
    for read in (int, float):
        with contextlib.suppress(ValueError):
            return read(text)
    return text


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
