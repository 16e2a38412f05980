"""How fastrecall stands against its goals: every row a ratio to the best peer of the same run.

Run from the repository root, on an idle machine::

    python bench/goals.py                       # everything, half an hour on two cores
    python bench/goals.py --rows exact19k,bfs   # some rows; each keeps a file of its own
    python bench/goals.py --prepare             # only make the data (embeds 20,000 texts once)
    python bench/goals.py --table               # print the table of what was measured
    python bench/goals.py --write               # the same, into docs/performance.md
    python bench/goals.py --quick               # everything in small, to try the driver

A row is written to bench/results/ROW.json as soon as it is done, so that a stop loses one row.
Progress goes to stderr, the table to stdout. Exits with 1 when a row could not be measured.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from harness import BUILD, RESULTS, ROOT, machine
from harness.results import load, save
from harness.table import goals_table, kernels_table
from rows import Group, Opened, Settings
from rows.big import BIG
from rows.embedding import EmbedRow
from rows.evaluation import EvalRow
from rows.exact import LARGE, MEDIUM, SMALL
from rows.graph import BfsRow, WalkRow
from rows.hnsw import HnswRows
from rows.roof import RoofRow

GROUPS: tuple[Group, ...] = (
    RoofRow(),
    SMALL,
    WalkRow(),
    BfsRow(),
    EvalRow(),
    LARGE,
    MEDIUM,
    HnswRows(),
    EmbedRow(),
    BIG,
)
ROWS = [row for group in GROUPS for row in group.minutes]
ALIASES = {"float32": [row for row in ROWS if row.startswith(("exact", "batch"))]}
PAGE = ROOT / "docs" / "performance.md"
TABLES = {"goals": goals_table, "kernels": kernels_table}


def main() -> int:
    arguments = _arguments()
    out = Path(arguments.out or (BUILD / "quick" if arguments.quick else RESULTS))
    if arguments.write:
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), _rows(out)), encoding="utf-8")
        return 0
    if arguments.table:
        print(_tables(out))
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # ends the contenders, too
    priority = machine.raise_priority()
    settings = Settings(
        quick=arguments.quick,
        threads=min(2, machine.cores()),
        fp32=arguments.fp32,
        st_model=arguments.st_model,
        st_python=arguments.st_python,
    )
    wanted = _wanted(arguments.rows)
    failed = [] if arguments.no_prepare else _prepare(wanted, settings)
    if not arguments.prepare:
        deadline = time.monotonic() + 60 * arguments.minutes
        failed += _measure(wanted, settings, out, priority, deadline)
        print(_tables(out))
    if failed:
        _say(f"not measured: {'; '.join(failed)}")
    return 1 if failed else 0


def filled(page: str, rows: dict[str, dict[str, Any]]) -> str:
    """The page with its tables, each between two comments that name it."""
    for name, table in TABLES.items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        if page.count(begin) != 1 or page.count(end) != 1:
            raise ValueError(f"{PAGE} needs {begin} and {end}, once each")
        before, _, rest = page.partition(begin)
        after = rest.partition(end)[2]
        page = f"{before}{begin}\n{table(rows)}\n{end}{after}"
    return page


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").splitlines()[0],
        epilog=f"rows: {', '.join(ROWS)}; float32 means all exact and batch rows",
    )
    parser.add_argument("--rows", help="some rows, separated by commas (default: all)")
    parser.add_argument("--minutes", type=float, default=40, help="start no row after (default 40)")
    parser.add_argument("--quick", action="store_true", help="small sizes, to try the driver")
    parser.add_argument("--out", help="folder of the results (default bench/results)")
    parser.add_argument("--prepare", action="store_true", help="only make the data")
    parser.add_argument("--no-prepare", action="store_true", help="the data is there")
    parser.add_argument("--table", action="store_true", help="only print what was measured")
    parser.add_argument("--write", action="store_true", help="put that into docs/performance.md")
    parser.add_argument("--fp32", help="embedding: a float32 ONNX file of the model")
    parser.add_argument("--st-model", help="embedding: a sentence-transformers folder of the model")
    parser.add_argument("--st-python", help="embedding: a Python that has sentence-transformers")
    return parser.parse_args()


def _wanted(given: str | None) -> set[str]:
    if given is None:
        return set(ROWS)
    names = [name.strip() for name in given.split(",") if name.strip()]
    if unknown := [name for name in names if name not in (*ROWS, *ALIASES)]:
        sys.exit(f"no such row: {', '.join(unknown)}; there are: {', '.join([*ROWS, *ALIASES])}")
    return {row for name in names for row in ALIASES.get(name, [name])}


def _prepare(wanted: set[str], settings: Settings) -> list[str]:
    failed = []
    for group in GROUPS:
        if rows := [row for row in group.minutes if row in wanted]:
            _say(f"preparing {', '.join(rows)}")
            try:
                group.prepare(settings)
            except Exception as error:
                traceback.print_exc()
                failed.append(f"{', '.join(rows)}: {error}")
    return failed


def _measure(
    wanted: set[str], settings: Settings, out: Path, priority: str, deadline: float
) -> list[str]:
    """Measure row after row; what went wrong, one line a row."""
    failed = []
    for group in GROUPS:
        rows = [row for row in group.minutes if row in wanted]
        if not rows:
            continue
        try:
            with group.open(settings) as opened:
                for row in rows:
                    if time.monotonic() > deadline:
                        failed.append(f"{row}: the time was up")
                        continue
                    try:
                        if missing := _row(row, opened, settings, out, priority):
                            failed.append(f"{row}: no time or no peer for {', '.join(missing)}")
                    except Exception as error:
                        traceback.print_exc()
                        failed.append(f"{row}: {error}")
        except Exception as error:
            traceback.print_exc()
            failed.append(f"{', '.join(rows)}: {error}")
    return failed


def _row(row: str, opened: Opened, settings: Settings, out: Path, priority: str) -> list[str]:
    """Measure a row and write its file; returns the lines that came to nothing."""
    start = time.monotonic()
    around = machine.Surroundings(opened.processes)
    measurements = opened.measure(row)
    surroundings = around.report(opened.processes)
    result = {
        "row": row,
        "quick": settings.quick,
        "provenance": machine.provenance(),
        "surroundings": {"priority": priority, **surroundings},
        "absent": opened.absent,
        "measurements": measurements,
        **opened.extra,
    }
    save(out / f"{row}.json", result)
    others = surroundings["others_share"]
    _say(f"{row}: {time.monotonic() - start:.0f} s, others had {others:.0%} of the machine")
    for one in measurements:
        figures = ", ".join(f"{figure:.3g}" for figure in one.figures())
        _say(f"  {one.work}, {one.contender}, {one.threads} threads: {one.verdict()} ({figures})")
    return [f"{one.work} ({one.contender})" for one in measurements if not one.figures()]


def _rows(folder: Path) -> dict[str, dict[str, Any]]:
    """What was measured, in the order of `ROWS`."""
    rows = load(folder) if folder.is_dir() else {}
    return {row: rows[row] for row in ROWS if row in rows}


def _tables(folder: Path) -> str:
    rows = _rows(folder)
    return "\n\n".join(table(rows) for table in TABLES.values())


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
