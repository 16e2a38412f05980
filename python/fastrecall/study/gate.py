"""Gates: conditions on a record that a build may depend on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from fastrecall.errors import InputError
from fastrecall.measure.intervals import wilson
from fastrecall.report.whole import whole
from fastrecall.study.settings import one_of

Bound = Literal["point", "lower"]

_SPEC = re.compile(
    r"""(?P<metric>[a-z_]+(?:@(?P<k>[0-9]+))?)
        \[(?:(?P<protocol>[a-z-]+)/)?(?P<arm>[a-z0-9_]+)\]
        \s*>?=\s*(?P<least>[0-9]*\.?[0-9]+)""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Verdict:
    """One gate's outcome: what was asked, what was measured, and whether that passes.

    The line people read and the exit code both come from ``passed``, so they cannot disagree.
    """

    name: str
    measured: float
    least: float
    passed: bool

    def __str__(self) -> str:
        if self.passed:
            return f"pass: {self.name} is {self.measured:.4f} ≥ {self.least:.4f}"
        places = 4
        while f"{self.measured:.{places}f}" == f"{self.least:.{places}f}":
            places += 1  # until it shows which one is larger
        return f"FAIL: {self.name} is {self.measured:.{places}f} < {self.least:.{places}f}"


def fail_under(record: Mapping[str, Any], spec: str, *, bound: Bound = "point") -> Verdict:
    """Judge *record* by ``METRIC[ARM]=LEAST``, e.g. ``chain_hit@32[causal]=0.9``.

    METRIC is ``chain_hit@k`` (k up to the depth of the record's curves) or ``mrr``; of code search
    ``hit@k``, ``mrr``, ``ndcg@10``, ``recall@5`` or ``recall@10``. The arm may carry a protocol,
    ``[leave-one-out/causal]``, else the record's first protocol is meant. With ``bound="lower"``
    the lower end of the 95 % interval must reach LEAST, not the point.

    Raises:
        InputError: a condition that cannot be read, or names what the record does not have.
        RecordError: *record* was read from a file that is not as it was written.

    >>> arm = {"hits": 9, "pairs": 10, "hits_at": [5, 9], "mrr": 0.7, "mrr_ci95": [0.5, 0.9]}
    >>> record = {"protocols": {"published": {"arms": {"causal": arm}}}}
    >>> str(fail_under(record, "chain_hit@2[causal]=0.9"))
    'pass: chain_hit@2[published/causal] is 0.9000 ≥ 0.9000'
    """
    match = parsed(spec)
    least = float(match["least"])
    with whole(record):
        protocols = record["protocols"]
        protocol = match["protocol"] or next(iter(protocols))
        one_of("protocol", protocol, tuple(protocols))
        arms = protocols[protocol]["arms"]
        arm = arms[one_of(f"under '{protocol}', arm", match["arm"], tuple(arms))]
        low, point = _measured(arm, match["metric"], match["k"], spec)
        # One question alone has no interval: nothing but 0 is certain.
        measured = float(point if bound == "point" else low or 0.0)
    suffix = " (lower bound)" if bound == "lower" else ""
    name = f"{match['metric']}[{protocol}/{match['arm']}]{suffix}"
    return Verdict(name, measured, least, measured >= least)


def parsed(spec: str) -> re.Match[str]:
    """The parts of a condition; to be asked before an evaluation, whose end it would spoil.

    Raises:
        InputError: it cannot be read, or never be met.

    >>> parsed("mrr[best]=0.5")["arm"]
    'best'
    """
    match = _SPEC.fullmatch(spec.strip())
    if match is None:
        raise InputError(
            f"gate '{spec}' cannot be read; expected METRIC[ARM]=SHARE or "
            "METRIC[PROTOCOL/ARM]=SHARE, for example chain_hit@32[causal]=0.9"
        )
    if float(match["least"]) > 1:
        raise InputError(f"gate '{spec}' can never be met; expected a share from 0 to 1")
    return match


def _measured(
    arm: Mapping[str, Any], metric: str, k: str | None, spec: str
) -> tuple[float | None, float]:
    """The lower end of the metric's interval, and the metric itself."""
    intervals = arm.get("ci95", {"mrr": arm["mrr_ci95"]})
    if metric in intervals:
        return intervals[metric][0], arm[metric]
    curve = "hit" if "ci95" in arm else "chain_hit"
    if k is None or metric != f"{curve}@{k}":
        known = ", ".join([f"{curve}@k", *intervals])
        raise InputError(f"gate '{spec}': metric '{metric}' is not in the record; known: {known}")
    hits, pairs = _hits_at(arm, int(k), spec), arm["pairs"]
    return wilson(hits, pairs)[0], hits / pairs


def _hits_at(arm: Mapping[str, Any], k: int, spec: str) -> int:
    curve = arm.get("hits_at")
    if curve is None:
        raise InputError(f"gate '{spec}': an uncut arm has no budget to be judged at")
    if not 1 <= k <= len(curve):
        raise InputError(f"gate '{spec}': k is {k}; the record holds 1 to {len(curve)}")
    return int(curve[k - 1])


def max_drop(
    record: Mapping[str, Any], baseline: Mapping[str, Any], most: float
) -> Iterable[Verdict]:
    """Judge every arm that both records have: its rate may fall by at most *most*.

    The verdicts name the settings in which the baseline differs, for they may be the reason.

    Raises:
        RecordError: the records are of different corpora or gold pairs, or one was read from a
            file that is not as it was written.
    """
    from fastrecall.study.compare import compare

    with whole(record, baseline):
        comparison = compare(baseline, record)
        changed = ", ".join(comparison["settings"])
    other = f" of other settings ({changed})" if changed else ""
    for row in comparison["rows"]:
        name = f"change of hits[{row['protocol']}/{row['arm']}] against the baseline{other}"
        yield Verdict(name, row["difference"], -most, row["difference"] >= -most)


def junit(verdicts: Iterable[Verdict]) -> str:
    """The verdicts as JUnit XML, a test case each.

    >>> "failures=\\"0\\"" in junit([Verdict("mrr[published/causal]", 0.7, 0.5, True)])
    True
    """
    from xml.etree import ElementTree

    verdicts = list(verdicts)
    failed = sum(not verdict.passed for verdict in verdicts)
    suite = ElementTree.Element(
        "testsuite", name="fastrecall", tests=str(len(verdicts)), failures=str(failed)
    )
    for verdict in verdicts:
        case = ElementTree.SubElement(suite, "testcase", classname="gate", name=verdict.name)
        if not verdict.passed:
            ElementTree.SubElement(case, "failure", message=str(verdict))
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"
