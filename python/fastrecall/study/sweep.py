"""Many settings on one corpus, one record each; finished ones are not made again."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastrecall.corpus.text import QUERY_MODES
from fastrecall.embedding import resolve_model
from fastrecall.errors import InputError
from fastrecall.measure.paired import PairedHits, holm, mcnemar
from fastrecall.report.whole import whole
from fastrecall.study.compare import hits_by_pair
from fastrecall.study.evaluation import evaluate
from fastrecall.study.record import Record, versions
from fastrecall.study.settings import one_of
from fastrecall.types import LINK_SOURCES, Corpus

SIGNIFICANCE = 0.05


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise InputError(f"'{text}' is not a whole number of 1 or more")
    return int(text)


def _links(text: str) -> tuple[str, ...]:
    return tuple(one_of("link source", name, LINK_SOURCES) for name in text.split("+"))


AXES: dict[str, Callable[[str], Any]] = {
    "budget": _count,
    "seeds": _count,
    "depth": _count,
    "links": _links,
    "query": lambda text: one_of("query", text, QUERY_MODES),
    "model": str,
}
"""What may be varied, and how a value is read."""


@dataclass(frozen=True)
class Point:
    """One setting of a sweep: the values as typed, and as options of `evaluate`."""

    typed: dict[str, str]
    options: dict[str, Any]

    @property
    def name(self) -> str:
        """The setting as text, e.g. ``budget=8 links=github``."""
        return " ".join(f"{axis}={value}" for axis, value in self.typed.items())


def parse_grid(specs: Sequence[str]) -> list[Point]:
    """All points of a grid given as ``AXIS=VALUE,VALUE…``, one spec an axis.

    Raises:
        InputError: an unknown axis or value, or an axis given twice.

    >>> [point.name for point in parse_grid(["budget=8,16", "links=published"])]
    ['budget=8 links=published', 'budget=16 links=published']
    """
    axes: dict[str, list[tuple[str, Any]]] = {}
    for spec in specs:
        axis, equals, values = spec.partition("=")
        if not equals or not values:
            raise InputError(f"grid '{spec}' cannot be read; expected AXIS=VALUE,VALUE…")
        one_of("axis", axis, tuple(AXES))
        if axis in axes:
            raise InputError(f"axis '{axis}' is given twice; put all its values into one --grid")
        axes[axis] = [(text, AXES[axis](text)) for text in values.split(",")]
    if not axes:
        raise InputError("a sweep needs at least one --grid AXIS=VALUE,VALUE…")
    return [
        Point(
            {axis: text for axis, (text, _) in zip(axes, chosen, strict=True)},
            {axis: value for axis, (_, value) in zip(axes, chosen, strict=True)},
        )
        for chosen in itertools.product(*axes.values())
    ]


def sweep(
    corpus: Corpus, points: Sequence[Point], folder: Path, **common: Any
) -> Iterator[tuple[Point, Record]]:
    """Evaluate every point, or read its record from *folder* when it is there already.

    A record's file is named after the corpus, all settings, the files of the model and the version
    of this package, so that after a change of any of them no old record is met; each is written
    whole, so that a sweep may be stopped at any time.
    """
    for point in points:
        options = {**common, **point.options}
        path = folder / f"{_file_name(corpus, point, options)}.json"
        if path.exists():
            yield point, Record.load(path)
            continue
        record = evaluate(corpus, **options)
        record.save(path)
        yield point, record


def _file_name(corpus: Corpus, point: Point, options: Mapping[str, Any]) -> str:
    # Threads and caching never change a result.
    deciding = {k: v for k, v in options.items() if k not in ("threads", "cache", "gold")}
    gold = options.get("gold")
    model = resolve_model(options.get("model", "minilm"), cache=options.get("cache", True))
    said = json.dumps(
        [
            versions()["fastrecall"],
            corpus.fingerprint,
            gold.fingerprint if gold else None,
            model.as_dict(),
            deciding,
        ],
        sort_keys=True,
        default=list,
    )
    digest = hashlib.sha256(said.encode()).hexdigest()[:12]
    readable = "".join(c if c.isalnum() or c in "=-+" else "_" for c in point.name)
    return f"{readable}-{digest}"


def rank_points(
    results: Sequence[tuple[Point, Record]], *, protocol: str, arm: str
) -> list[dict[str, Any]]:
    """One row a point, best first, with what is distinguishable from the best.

    ``behind`` is true where the paired difference to the best is significant, false where it is
    noise, and ``None`` for the best itself, or where the pairs asked are not the same (other links
    make other pairs). Holm's correction is over all pairs of points, not only those with the best:
    it was chosen by the very numbers that are tested.

    Raises:
        InputError: the records have no such protocol or arm.
        RecordError: one was read from a file that is not as it was written.
    """
    with whole(*(record for _, record in results)):
        return _ranked(results, protocol, arm)


def _ranked(
    results: Sequence[tuple[Point, Record]], protocol: str, arm: str
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for point, record in results:
        protocols = record["protocols"]
        arms = protocols[one_of("protocol", protocol, tuple(protocols))]["arms"]
        block = arms[one_of(f"under '{protocol}', arm", arm, tuple(arms))]
        rows.append({"point": point.name, "arm": _figures(block), "record": record})
    rows.sort(key=lambda row: (-row["arm"]["rate"], row["point"]))
    best = rows[0]
    for row, adjusted in _against_the_best([row["record"] for row in rows], protocol, arm).items():
        rows[row]["holm_p"] = adjusted
        rows[row]["behind"] = adjusted < SIGNIFICANCE
    return [
        {
            "point": row["point"],
            **row["arm"],
            "holm_p": row.get("holm_p"),
            "behind": row.get("behind"),
            "best": row is best and all(other.get("behind") for other in rows[1:]),
        }
        for row in rows
    ]


def _figures(block: Mapping[str, Any]) -> dict[str, Any]:
    """What a row tells of its arm; raises TypeError for what is no number."""
    figures = {
        key: block[key] for key in ("hits", "pairs", "rate", "wilson95", "mrr", "mean_output")
    }
    low, high = figures["wilson95"]
    for number in (low, high, *(value for key, value in figures.items() if key != "wilson95")):
        if not isinstance(number, (int, float)):
            raise TypeError(f"an arm has {ascii(number)[:40]} for a number")
    return figures


def _against_the_best(records: Sequence[Record], protocol: str, arm: str) -> dict[int, float]:
    """The adjusted p-value of each record against the first, where both asked the same pairs."""
    gold = [record["corpus"]["gold_fingerprint"] for record in records]
    hits = [hits_by_pair(record, protocol, arm) for record in records]
    p_values: dict[tuple[int, int], float] = {}
    for one, other in itertools.combinations(range(len(records)), 2):
        if gold[one] == gold[other]:
            shared = hits[one].keys() & hits[other].keys()
            of = PairedHits.of(
                *([found[key] for key in shared] for found in (hits[one], hits[other]))
            )
            p_values[one, other] = mcnemar(of.first, of.second)
    adjusted = dict(zip(p_values, holm(list(p_values.values())), strict=True))
    return {other: p for (one, other), p in adjusted.items() if one == 0}
