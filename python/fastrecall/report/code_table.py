"""A record of code search as text: numbers by arm, failures of the judge, the list of misses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastrecall.report.console import finished, text_console
from fastrecall.report.format import bounds, p_value, plural, points

METRICS: Mapping[str, str] = {
    "mrr": "MRR",
    "ndcg@10": "NDCG@10",
    "hit@5": "Hit@5",
    "hit@10": "Hit@10",
    "recall@5": "Recall@5",
    "recall@10": "Recall@10",
}
"""The columns of numbers, by their keys in the record."""


def is_code(record: Mapping[str, Any]) -> bool:
    """Whether a record is of code search."""
    return "code" in record["protocols"]


def render_code(record: Mapping[str, Any], *, width: int, color: bool, misses: bool = False) -> str:
    """The record as text of *width* columns; with *misses* also what came instead."""
    from rich.table import Table

    console, out = text_console(width, color)
    corpus, block = record["corpus"], record["protocols"]["code"]
    at = f" at {corpus['commit'][:12]}" if corpus["commit"] else ""
    console.print(
        f"{corpus['name']}{at}: {plural(corpus['files'], 'file')}, "
        f"{plural(corpus['nodes'], 'candidate')} of {plural(corpus['chunks'], 'chunk')} "
        f"({plural(len(corpus['skipped']), 'file')} skipped)"
    )
    console.print(
        f"{plural(block['queries'], 'query', 'queries')} ({corpus['gold_origin']}) · "
        f"model {record['model']['id']}"
    )
    if block["unreachable"]:
        console.print(f"{plural(block['unreachable'], 'gold range')} not in any chunk: missed")
    console.print()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="underline")
    for heading in ("arm", *METRICS.values(), "lines"):
        table.add_column(heading, justify="left" if heading == "arm" else "right", no_wrap=True)
    for arm in block["arms"].values():
        table.add_row(
            arm["title"], *(f"{arm[name]:.3f}" for name in METRICS), f"{arm['mean_lines']:.0f}"
        )
        table.add_row("", *(bounds(arm["ci95"][name]) for name in METRICS), "", style="dim")
    console.print(table)
    console.print()
    gain = record["gain"]["code"]
    console.print(
        f"{gain['title']}: {points(gain['difference'], gain['ci95'])} "
        f"({gain['won']} won, {gain['lost']} lost; exact McNemar {p_value(gain['mcnemar_p'])})"
    )
    if "reasoning" in record:
        console.print(record["reasoning"]["sentence"])
    console.print("below each number: its 95 % interval (Hit by Wilson, the rest by bootstrap)")
    console.print("lines: mean length of the first ten results; longer ones hit more easily.")
    if misses:
        _misses(console, record)
    return finished(out)


def _misses(console: Any, record: Mapping[str, Any]) -> None:
    arm = list(record["protocols"]["code"]["arms"])[-1]
    for row in record["queries"]:
        missed = row["misses"]["code"].get(arm)
        if missed is None:
            continue
        rank = f" (rank {missed['rank']})" if missed["rank"] else ""
        console.print(f"\nmissed by {arm}{rank}: {row['query']}", soft_wrap=True)
        console.print("  expected " + ", ".join(row["targets"]), soft_wrap=True)
        console.print("  came     " + (", ".join(missed["top"]) or "nothing"), soft_wrap=True)
