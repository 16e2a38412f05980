"""Gates of `eval` and `code-eval`: conditions on the record, their verdicts and the exit code."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fastrecall.cli._kinds import Fraction, Place
from fastrecall.cli._options import stack

if TYPE_CHECKING:
    from fastrecall.study import Record
    from fastrecall.study.gate import Bound

GATE_FAILED = 1

gate_options = stack(
    click.option(
        "--fail-under",
        multiple=True,
        metavar="GATE",
        help="Fail below METRIC[ARM]=SHARE, e.g. 'chain_hit@32[causal]=0.9' or, of code, "
        "'ndcg@10[hybrid]=0.7'; repeatable.",
    ),
    click.option(
        "--bound",
        type=click.Choice(["point", "lower"]),
        default="point",
        show_default=True,
        help="What must reach the share: the point, or the lower end of its interval.",
    ),
    click.option("--baseline", type=Place(), help="A record to compare with."),
    click.option(
        "--max-drop",
        type=Fraction(),
        default=0.0,
        show_default=True,
        help="How far any arm's rate may fall below the baseline's.",
    ),
    click.option("--junit", type=Place(), help="Write the verdicts as JUnit XML."),
)


def judge(
    record: Record,
    *,
    fail_under: Sequence[str],
    bound: Bound,
    baseline: str | None,
    max_drop: float,
    junit: str | None,
) -> int:
    """Say every verdict on stderr (and where builds look for it); returns the exit code."""
    from fastrecall._files import atomic_write
    from fastrecall._term import note
    from fastrecall.study import Record as RecordType
    from fastrecall.study import gate

    verdicts = [gate.fail_under(record, spec, bound=bound) for spec in fail_under]
    if baseline is not None:
        verdicts += gate.max_drop(record, RecordType.load(baseline), max_drop)
    for verdict in verdicts:
        note(str(verdict))
    if junit:
        with atomic_write(junit) as file:
            file.write(gate.junit(verdicts))
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        lines = "".join(f"- {verdict}\n" for verdict in verdicts)
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(f"{record.markdown()}\n{lines}")
    return 0 if all(verdict.passed for verdict in verdicts) else GATE_FAILED
