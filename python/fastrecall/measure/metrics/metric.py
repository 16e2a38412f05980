"""Metrics as values: read from text, printed back to it, compared, hashed, applied."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fastrecall.errors import InputError
from fastrecall.measure.judgments import Found, Judgments, locate
from fastrecall.measure.metrics.average_precision import MAP
from fastrecall.measure.metrics.chain_hit import CHAIN_HIT
from fastrecall.measure.metrics.family import Family
from fastrecall.measure.metrics.hit import HIT
from fastrecall.measure.metrics.ndcg import NDCG
from fastrecall.measure.metrics.precision import PRECISION
from fastrecall.measure.metrics.recall import RECALL
from fastrecall.measure.metrics.reciprocal_rank import MRR

FAMILIES: Mapping[str, Family] = {
    family.name: family for family in (CHAIN_HIT, HIT, MRR, NDCG, RECALL, PRECISION, MAP)
}
"""Every family of metrics by name; a new one is a new file and one more name here."""

_TEXT = re.compile(r"(?P<name>[a-z_]+)(?:@(?P<cutoff>[1-9][0-9]{0,8}))?")


@dataclass(frozen=True)
class Metric:
    """One metric, such as ``ndcg@10``: a family and how many places count.

    Raises:
        InputError: a family that does not exist, or a cut that is missing or below 1.

    >>> Metric("hit", 5) == Metric.parse("hit@5")
    True
    """

    name: str
    cutoff: int | None = None

    def __post_init__(self) -> None:
        family = FAMILIES.get(self.name)
        if family is None:
            raise InputError(_unknown(str(self)))
        if self.cutoff is None and family.cutoff == "required":
            raise InputError(
                f"metric '{self.name}' needs the number of places that count: "
                f"write {family.spelling}, for example {self.name}@10"
            )
        if self.cutoff is not None and self.cutoff < 1:
            raise InputError(
                f"metric '{self}' has a cut below 1; expected {family.spelling}, k >= 1"
            )

    @classmethod
    def parse(cls, text: str) -> Metric:
        """The metric that *text* names; ``str`` of it gives the text back.

        Capital letters are accepted (``MRR@10``) and printed small.

        Raises:
            InputError: no such metric; the message lists what exists and the nearest name.

        >>> str(Metric.parse("ndcg@10"))
        'ndcg@10'
        """
        match = _TEXT.fullmatch(text.strip().lower())
        if match is None:
            raise InputError(_unknown(text.strip()))
        cutoff = match["cutoff"]
        return cls(match["name"], None if cutoff is None else int(cutoff))

    def __str__(self) -> str:
        return self.name if self.cutoff is None else f"{self.name}@{self.cutoff}"

    @property
    def family(self) -> Family:
        """The metrics of the same name, with the arithmetic and the properties they share."""
        return FAMILIES[self.name]

    @property
    def meaning(self) -> str:
        """What the number tells, in one sentence for a reader.

        >>> Metric.parse("hit@5").meaning
        'share of queries with at least one right answer in the first 5'
        """
        places = "the whole ranking" if self.cutoff is None else f"the first {self.cutoff}"
        return self.family.meaning.format(k=places)

    def score(self, found: Found) -> npt.NDArray[np.float64]:
        """The score of every query, ``[queries]`` (of every pair for ``chain_hit``), in [0, 1].

        >>> gold = Judgments.from_dicts([{4: 1, 6: 1}, {8: 1}])
        >>> Metric.parse("recall@2").score(locate([[4, 9, 6], [8, 1, 2]], gold))
        array([0.5, 1. ])
        """
        return self.family.score(found, self.cutoff)

    def evaluate(
        self, rankings: npt.ArrayLike, gold: Judgments | Sequence[Mapping[int, int]]
    ) -> npt.NDArray[np.float64]:
        """The scores of rankings ``[queries, width]``, -1 past the end; see `locate`.

        Several metrics on the same rankings are cheaper with `locate` once and `score` each.

        Raises:
            InputError: rankings and gold that do not fit.

        >>> Metric.parse("mrr").evaluate([[9, 4], [1, 2]], [{4: 1}, {8: 1}])
        array([0.5, 0. ])
        """
        judgments = gold if isinstance(gold, Judgments) else Judgments.from_dicts(gold)
        return self.score(locate(rankings, judgments))

    def clusters(self, judgments: Judgments) -> npt.NDArray[np.int64]:
        """The query that each score belongs to: the clusters for `bootstrap_mean`."""
        return judgments.queries if self.family.unit == "pair" else np.arange(len(judgments))


def parse_metrics(texts: Iterable[str]) -> tuple[Metric, ...]:
    """Metrics from texts that may each hold several, separated by commas or spaces.

    Repeated metrics are taken once.

    Raises:
        InputError: names every text that is wrong, not just the first.

    >>> [str(metric) for metric in parse_metrics(["hit@5, mrr", "map"])]
    ['hit@5', 'mrr', 'map']
    """
    metrics: dict[Metric, None] = {}
    errors = []
    for word in re.split(r"[,\s]+", " ".join(texts)):
        if word:
            try:
                metrics[Metric.parse(word)] = None
            except InputError as error:
                errors.append(str(error))
    if errors:
        raise InputError("\n".join(errors))
    return tuple(metrics)


def _unknown(text: str) -> str:
    name, at, cutoff = text.lower().partition("@")
    exists = ", ".join(family.spelling for family in FAMILIES.values())
    near = difflib.get_close_matches(_ALIASES.get(name, name), FAMILIES, n=1)
    hint = f"did you mean {near[0]}{at}{cutoff}? " if near and near[0] != name else ""
    return f"'{text}' is no metric: {hint}expected one of {exists}, with k a whole number above 0"


_ALIASES = {
    "success": "hit",
    "rr": "mrr",
    "recip_rank": "mrr",
    "p": "precision",
    "r": "recall",
    "ap": "map",
}
"""Names that other tools use; understood in suggestions only."""
