"""Gates of `eval` and `code-eval`: conditions on the record, their verdicts and the exit code."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fastrecall.cli._kinds import Fraction, Place
from fastrecall.cli._options import stack
from fastrecall.errors import InputError

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
        help="How far any arm's rate may fall below the baseline's.  [default: 0.0]",
    ),
    click.option("--junit", type=Place(), help="Write the verdicts as JUnit XML."),
)


@dataclass(frozen=True)
class Gates:
    """The conditions of a command line, read before the work that they judge."""

    specs: Sequence[str]
    bound: Bound
    baseline: Record | None
    max_drop: float
    junit: str | None

    @classmethod
    def read(
        cls,
        *,
        fail_under: Sequence[str],
        bound: Bound,
        baseline: str | None,
        max_drop: float | None,
        junit: str | None,
    ) -> Gates:
        """Take the options of `gate_options`; what cannot be read is told now."""
        from fastrecall.study import Record
        from fastrecall.study.gate import parsed

        for spec in fail_under:
            parsed(spec)
        if max_drop is not None and baseline is None:
            raise InputError("--max-drop is measured from a record; name it with --baseline")
        record = None if baseline is None else Record.load(baseline)
        return cls(fail_under, bound, record, max_drop or 0.0, junit)

    def judge(self, record: Record) -> int:
        """Say every verdict on stderr (and where builds look for it); returns the exit code."""
        from fastrecall._files import atomic_write
        from fastrecall._term import note
        from fastrecall.study import gate

        verdicts = [gate.fail_under(record, spec, bound=self.bound) for spec in self.specs]
        if self.baseline is not None:
            verdicts += gate.max_drop(record, self.baseline, self.max_drop)
        for verdict in verdicts:
            note(str(verdict))
        if self.junit:
            with atomic_write(self.junit) as file:
                file.write(gate.junit(verdicts))
        summary = os.environ.get("GITHUB_STEP_SUMMARY")
        if summary:
            lines = "".join(f"- {verdict}\n" for verdict in verdicts)
            with Path(summary).open("a", encoding="utf-8") as file:
                file.write(f"{record.markdown()}\n{lines}")
        return 0 if all(verdict.passed for verdict in verdicts) else GATE_FAILED
