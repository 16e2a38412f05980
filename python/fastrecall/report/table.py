"""A record as one table of text: protocols as blocks, arms as rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from fastrecall.report.cautions import cautions
from fastrecall.report.console import finished, text_console
from fastrecall.report.format import bounds, count, interval, p_value, percent, plural, points
from fastrecall.report.gains import how_tested, told_gains
from fastrecall.report.reading import not_yet

Block = Mapping[str, Any]


class Column(NamedTuple):
    """A column: its heading, the least width of the page that shows it, and a cell's text."""

    heading: str
    page: int
    cell: Callable[[Block], str]


COLUMNS = (
    Column("arm", 0, lambda arm: arm["title"]),
    Column("hits", 0, lambda arm: f"{arm['hits']}/{arm['pairs']}"),
    Column("rate", 0, lambda arm: percent(arm["rate"])),
    Column("Wilson 95 %", 62, lambda arm: interval(arm["wilson95"])),
    Column("MRR", 70, lambda arm: f"{arm['mrr']:.3f}"),
    Column("95 %", 116, lambda arm: f"[{bounds(arm['mrr_ci95'])}]"),
    Column("nodes", 78, lambda arm: f"{arm['mean_output']:.1f}"),
    Column(
        "median rank",
        90,
        lambda arm: "–" if arm["median_rank"] is None else str(arm["median_rank"]),
    ),
    Column("ms/query", 100, lambda arm: f"{arm['ms']:.2f}" if "ms" in arm else ""),
)

_TELLING = ("semantic", "semantic_prs", "hybrid_reasoning", "causal", "hybrid_causal", "best")

SUMMARY_ARMS: Mapping[str, tuple[str, ...]] = {
    "duplicates": _TELLING,
    "past-only": _TELLING,
    "shuffled": ("semantic", "causal"),
}
"""Among several protocols, the smaller ones show only the arms that tell their story."""


def render(record: Block, *, width: int, color: bool) -> str:
    """The record as text of *width* columns: a head, a block a protocol, a reading aid.

    A single protocol is shown with all its arms; several share one screen, without the uncut walks.
    """
    console, out = text_console(width, color)
    for line in _head(record):
        console.print(line)
    blocks = {key: _arms(record, key) for key in record["protocols"]}
    columns = [column for column in COLUMNS if column.page <= width]
    widths = [
        max([len(c.heading), *(len(c.cell(arm)) for arms in blocks.values() for arm in arms)])
        for c in columns
    ]
    for number, (key, arms) in enumerate(blocks.items()):
        if number == 0:
            console.print()
        block = record["protocols"][key]
        console.print(f"{block['title']}: {block['sentence']}", style="bold")
        for line in _facts(key, block):
            console.print(line)
        console.print(_table(columns, widths, arms, heading=number == 0))
        for gain in told_gains(record, key):
            console.print(_gain(gain))
        console.print()
    for line in _foot(record):
        console.print(line, style="dim" if color else None)
    return finished(out)


def _head(record: Block) -> Iterator[str]:
    corpus, settings = record["corpus"], record["settings"]
    yield (
        f"{corpus['name']}: {plural(corpus['issues'], 'issue')}, {plural(corpus['prs'], 'PR')}, "
        f"{plural(corpus['pairs'], 'gold pair')} ({corpus['gold_origin']})"
    )
    yield (
        f"model {record['model']['id']} · links {'+'.join(settings['links'])} · "
        f"query {settings['query']} · budget {settings['budget']}"
    )
    yield from cautions(record)
    yield from corpus["notes"]


def _arms(record: Block, protocol: str) -> list[Block]:
    """The arms to show, each with its milliseconds a query where they were measured."""
    arms = record["protocols"][protocol]["arms"]
    timed = record["timings"].get("ms_per_query", {}).get(protocol, {})
    alone = len(record["protocols"]) == 1
    chosen = SUMMARY_ARMS.get(protocol, tuple(arms))
    return [
        arm | ({"ms": timed[key]} if key in timed else {})
        for key, arm in arms.items()
        if alone or (key in chosen and "hits_at" in arm)
    ]


def _facts(protocol: str, block: Block) -> Iterator[str]:
    if protocol == "published":
        yield (
            f"own issue ranked first for {count(block['own_issue_first'])} of "
            f"{plural(block['queries'], 'query', 'queries')}"
        )
    if block["unreachable"]:
        pairs = plural(block["unreachable"], "pair")
        yield f"{pairs} not asked: the PR is not in the corpus"
    if block.get("not_yet"):
        yield f"{not_yet(block)}: no arm can find them"


def _table(columns: list[Column], widths: list[int], arms: list[Block], *, heading: bool) -> Any:
    from rich.table import Table

    table = Table(
        box=None,
        pad_edge=False,
        padding=(0, 2, 0, 0),
        header_style="underline",
        show_header=heading,
    )
    for column, wide in zip(columns, widths, strict=True):
        table.add_column(
            column.heading,
            justify="left" if column.heading == "arm" else "right",
            no_wrap=True,
            width=wide,
        )
    for arm in arms:
        table.add_row(*(column.cell(arm) for column in columns))
    return table


def _gain(gain: Block) -> str:
    won, lost = plural(gain["won"], "pair"), gain["lost"]
    return (
        f"{gain['title']}: {points(gain['difference'], gain['ci95'])}, "
        f"{won} won, {lost} lost, {p_value(gain['holm_p'])}"
    )


def _foot(record: Block) -> Iterator[str]:
    budget = record["settings"]["budget"]
    yield f"rate: pairs whose PR is among the {budget} returned nodes; [ ]: where the true one lies"
    yield (
        "MRR: mean of 1/rank of each question's first PR, 0 for none · "
        "nodes: how many came on average"
    )
    tested = how_tested(record)
    if tested:
        yield f"p: {tested}"
