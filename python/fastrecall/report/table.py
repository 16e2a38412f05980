"""A record as tables of text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fastrecall.report.cautions import cautions
from fastrecall.report.console import finished, text_console
from fastrecall.report.format import count, interval, p_value, percent, plural, points

Block = Mapping[str, Any]

_COLUMNS: tuple[tuple[str, int, Callable[[Block], str]], ...] = (
    ("arm", 0, lambda arm: arm["title"]),
    ("hits", 0, lambda arm: f"{arm['hits']}/{arm['pairs']}"),
    ("rate", 0, lambda arm: percent(arm["rate"])),
    ("Wilson 95 %", 60, lambda arm: interval(arm["wilson95"])),
    ("MRR", 68, lambda arm: f"{arm['mrr']:.3f}"),
    ("median rank", 84, lambda arm: "–" if arm["median_rank"] is None else str(arm["median_rank"])),
    ("nodes", 76, lambda arm: f"{arm['mean_output']:.1f}"),
)
"""Heading, the least width of the page that shows it, and the text of a cell."""


def render(record: Block, *, width: int, color: bool) -> str:
    """The record as text of *width* columns: a head, a block a protocol, a reading aid."""
    console, out = text_console(width, color)
    for line in _head(record):
        console.print(line)
    for key, block in record["protocols"].items():
        console.print()
        _protocol(console, record, key, block)
    console.print()
    for line in _foot(record):
        console.print(line, style="dim" if color else None)
    return finished(out)


def _head(record: Block) -> list[str]:
    corpus, settings = record["corpus"], record["settings"]
    return [
        f"{corpus['name']}: {plural(corpus['issues'], 'issue')}, {plural(corpus['prs'], 'PR')}, "
        f"{plural(corpus['pairs'], 'gold pair')} ({corpus['gold_origin']})",
        f"model {record['model']['id']} · links {'+'.join(settings['links'])} · "
        f"query {settings['query']} · budget {settings['budget']}",
        *cautions(record),
        *corpus["notes"],
    ]


def _protocol(console: Any, record: Block, key: str, block: Block) -> None:
    console.print(f"{block['title']}: {block['sentence']}", style="bold")
    if block["own_issue_first"] is not None:
        console.print(
            f"own issue ranked first for {count(block['own_issue_first'])} of "
            f"{count(block['queries'])} queries"
        )
    if block["unreachable"]:
        console.print(
            f"{plural(block['unreachable'], 'pair')} not asked: the PR is not in the corpus"
        )
    console.print(_arms(block, record["timings"].get("ms_per_query", {}).get(key, {}), console))
    gain = record["gain"].get(key)
    if gain:
        console.print(
            f"{gain['title']}: {points(gain['difference'], gain['ci95'])} "
            f"({gain['won']} pairs won, {gain['lost']} lost; "
            f"exact McNemar {p_value(gain['mcnemar_p'])})"
        )


def _arms(block: Block, milliseconds: Mapping[str, float], console: Any) -> Any:
    """One row an arm; a narrow page leaves out what is least missed."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="underline")
    shown = [column for column in _COLUMNS if column[1] <= console.width]
    for heading, _, _ in shown:
        table.add_column(heading, justify="left" if heading == "arm" else "right", no_wrap=True)
    timed = bool(milliseconds) and console.width >= 92
    if timed:
        table.add_column("ms/query", justify="right", no_wrap=True)
    for key, arm in block["arms"].items():
        cells = [cell(arm) for _, _, cell in shown]
        if timed:
            cells.append(f"{milliseconds[key]:.2f}" if key in milliseconds else "")
        table.add_row(*cells)
    return table


def _foot(record: Block) -> list[str]:
    settings = record["settings"]
    return [
        f"rate: share of pairs whose PR is among the {settings['budget']} returned nodes "
        "(chain-hit); brackets: where the true share plausibly lies.",
        "MRR: mean of 1/rank of the PR, 0 for a miss; nodes: how many came back on average.",
    ]
