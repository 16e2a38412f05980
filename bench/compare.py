"""Did a row fall? Compares two result files, or two folders of them.

    python bench/compare.py BEFORE AFTER [--percent 10]

What is compared is how many times faster than the best peer fastrecall was, each time in its own
run: a machine that is slower today slows both. (For figures with a cap it is the figure.) The
interval of the change is conservative: from the two medians' 95 % intervals, worst against best.
Exits with 1 when a row fell by more than the percentage and the interval does not reach to no
change at all.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

from harness.results import Measurement, load


@dataclass(frozen=True)
class Change:
    """How much better (above 1) or worse a line became, with an interval."""

    name: str
    middle: float
    low: float
    high: float

    def fell(self, percent: float) -> bool:
        """Whether it is worse by more than *percent*, and not by chance.

        >>> Change("walks", 0.7, 0.6, 0.9).fell(20), Change("walks", 0.7, 0.4, 1.1).fell(20)
        (True, False)
        """
        return self.middle < 1 - percent / 100 and self.high < 1


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("before", type=Path, help="a result file or a folder of them")
    parser.add_argument("after", type=Path, help="another")
    parser.add_argument("--percent", type=float, default=10, help="most that a row may fall")
    arguments = parser.parse_args()
    for path in (arguments.before, arguments.after):
        if not path.exists():
            sys.exit(f"{path} does not exist; expected a result file or a folder of them")
    before, after = measurements(arguments.before), measurements(arguments.after)
    changes = compare(before, after)
    if not changes:
        sys.exit("the two have no row in common")
    print("| work | change (interval) | |\n|---|---|---|")
    for one in changes:
        verdict = "fell" if one.fell(arguments.percent) else ""
        print(f"| {one.name} | {one.middle:.2f}x ({one.low:.2f}–{one.high:.2f}) | {verdict} |")
    for only, where in ((before, arguments.before), (after, arguments.after)):
        names = {_name(key) for key in only} - {one.name for one in changes}
        if names:
            print(f"only in {where}: {'; '.join(sorted(names))}", file=sys.stderr)
    return 1 if any(one.fell(arguments.percent) for one in changes) else 0


Key = tuple[str, int, str, str]


def measurements(path: Path) -> dict[Key, Measurement]:
    """All measurements of a file or folder that can be compared, by what they measured."""
    rows = load(path).values()
    return {one.key: one for row in rows for one in row["measurements"] if one.figures()}


def compare(before: dict[Key, Measurement], after: dict[Key, Measurement]) -> list[Change]:
    """The change of every line that both have."""
    changes = []
    for key, then in before.items():
        if (now := after.get(key)) is None:
            continue
        old, new = then.interval(), now.interval()
        if now.kind == "at most":  # less is better
            old, new = _inverse(old), _inverse(new)
        changes.append(Change(_name(key), new[0] / old[0], new[1] / old[2], new[2] / old[1]))
    return changes


def _inverse(interval: tuple[float, float, float]) -> tuple[float, float, float]:
    middle, low, high = interval
    return 1 / middle, 1 / high, 1 / low


def _name(key: Key) -> str:
    work, threads, contender, _ = key
    return f"{work}, {contender}, {threads} thread{'s' * (threads > 1)}"


if __name__ == "__main__":
    sys.exit(main())
