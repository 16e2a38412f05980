"""The figures of `fastrecall stats` as tables of text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fastrecall.report.console import finished, text_console
from fastrecall.report.format import count, interval, percent, plural

Block = Mapping[str, Any]

_MONTHS = 12
_GAP = 2
_WORKS = {"issues": "issue", "prs": "PR"}


def render_stats(stats: Block, *, width: int, color: bool) -> str:
    """The document of `project_stats` as text of *width* columns, a section a finding."""
    console, out = text_console(width, color)
    corpus = stats["corpus"]
    if len(corpus["repos"]) == 1:
        stats = _without(f"{corpus['repos'][0]}#", stats)
    span = f", {corpus['first']} to {corpus['last']}" if corpus["first"] else ""
    console.print(
        f"{corpus['name']}: {plural(corpus['issues'], 'issue')}, "
        f"{plural(corpus['prs'], 'PR')}{span}"
    )
    for note in corpus["notes"]:
        console.print(note)
    _agents(console, stats["agents"])
    _automation(console, stats["automation"])
    _returns(console, stats["returns"])
    _titles(console, stats)
    _links(console, stats)
    return finished(out)


def _without(repository: str, value: Any) -> Any:
    """The document with short references: in one repository ``#12`` says enough."""
    if isinstance(value, str):
        return f"#{value.removeprefix(repository)}" if value.startswith(repository) else value
    if isinstance(value, dict):
        return {key: _without(repository, one) for key, one in value.items()}
    if isinstance(value, list):
        return [_without(repository, one) for one in value]
    return value


def _agents(console: Any, agents: Block) -> None:
    _heading(
        console,
        f"Coding agents: at least {_share(agents)}",
        "Direct traces only (accounts, trailers, links, branches); agents can leave none.",
    )
    rows = [
        (agent["title"], count(agent["prs"]), count(len(agent["accounts"])),
         count(len(agent["texts"])), ", ".join((agent["accounts"] + agent["texts"])[:3]))
        for agent in agents["by_agent"].values()
        if agent["prs"]
    ]  # fmt: skip
    if rows:
        _print_table(console, ("agent", "PRs", "by account", "by text", "such as"), rows)
    months = agents["months"][-_MONTHS:]
    if months:
        console.print()
        rows = [
            (row["month"], count(row["prs"]), count(row["of"]), percent(row["share"]),
             interval(row["wilson95"]))
            for row in months
        ]  # fmt: skip
        _print_table(console, ("month", "with traces", "PRs", "share", "Wilson 95 %"), rows)


def _automation(console: Any, automation: Block) -> None:
    _heading(
        console,
        f"Automation: {_share(automation)}",
        "Accounts that open PRs by rule, and other bots; coding agents are not among them.",
    )
    accounts = automation["by_account"]
    if accounts:
        rows = [(login, count(prs)) for login, prs in list(accounts.items())[:10]]
        _print_table(console, ("account", "PRs"), rows)
    if len(accounts) > 10:
        console.print(f"and {plural(len(accounts) - 10, 'more account')}")


def _returns(console: Any, returns: Block) -> None:
    _heading(console, "Work that returns", "")
    reverts = returns["reverts"]
    rows = [
        ("PRs that revert", count(reverts["prs"]),
         f"{count(reverts['known'])} with a known original, "
            f"{_days(reverts['median_days_until'])} after it"),
        ("… and came back later", count(reverts["back"]),
         f"{_days(reverts['median_days_back'])} after the revert"),
    ]  # fmt: skip
    for word in ("flaky", "regression"):
        for kind, noun in _WORKS.items():
            refs = returns[word][kind]
            rows.append((f"{noun}s with “{word}” in the title", count(len(refs)), _some(refs)))
    _print_table(console, ("what", "number", ""), rows)


def _titles(console: Any, stats: Block) -> None:
    threshold, model = stats["settings"]["threshold"], stats["settings"]["model"]
    _heading(
        console,
        "Groups of near-identical titles",
        "exact: equal but for numbers, versions, dates and hashes; "
        f"near: a chain of titles with cosine {threshold:g} or more ({model}).",
    )
    rows = []
    for kind, noun in _WORKS.items():
        for how in ("exact", "near"):
            block = stats["titles"][kind][how]
            rows.append(
                (f"{noun}s, {how}", count(block["groups"]), count(block["tickets"]),
                 _days(block["median_days_between"]))
            )  # fmt: skip
    _print_table(console, ("titles", "groups", "tickets", "back after (median)"), rows)
    for kind, noun in _WORKS.items():
        top = stats["titles"][kind]["near"]["top"][:5]
        if top:
            console.print()
            named = [
                (count(one["size"]), _days(one["median_days_between"]), one["title"]) for one in top
            ]
            _print_table(console, (f"{noun}s", "back after", "title of the first"), named)


def _links(console: Any, stats: Block) -> None:
    returns = stats["returns"]
    _heading(
        console, "Many to many", f"Closing links by source: {'+'.join(stats['settings']['links'])}."
    )
    issues, prs = returns["issues_of_several_prs"], returns["prs_of_several_issues"]
    rows = [
        ("issues closed by several PRs", count(issues["issues"]),
         f"next PR {_days(issues['median_days_between'])} later"),
        ("PRs that close several issues", count(prs["prs"]), ""),
    ]  # fmt: skip
    _print_table(console, ("what", "number", ""), rows)
    for block, noun in ((issues, "issue"), (prs, "PR")):
        if block["top"]:
            console.print()
            rows = [
                (one["ref"], count(len(one["others"])), one["title"]) for one in block["top"][:5]
            ]
            _print_table(console, (noun, "links", "title"), rows)


def _heading(console: Any, title: str, sentence: str) -> None:
    console.print()
    console.print(title, style="bold")
    if sentence:
        console.print(sentence)


def _print_table(console: Any, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table whose last column gives way when the page is narrow."""
    from rich.cells import cell_len
    from rich.table import Table

    cells = [[_one_line(cell) for cell in row] for row in rows]
    columns = list(zip(headings, *cells, strict=True))
    widths = [max(map(cell_len, column)) for column in columns]
    left = console.width - sum(width + _GAP for width in widths[:-1])
    widths[-1] = max(1, min(widths[-1], left))
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="underline")
    for heading, width in zip(headings, widths, strict=True):
        table.add_column(heading, no_wrap=True, overflow="ellipsis", width=width)
    for row in cells:
        table.add_row(*row)
    console.print(table)


def _one_line(text: str) -> str:
    """Text of strangers: printable, on one line."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _share(block: Block) -> str:
    if not block["of"]:
        return "no PRs"
    share = f"{percent(block['share'])} {interval(block['wilson95'])}"
    return f"{count(block['prs'])} of {plural(block['of'], 'PR')}, {share}"


def _days(days: float | None) -> str:
    if days is None:
        return "–"
    if days < 2:
        return f"{24 * days:.0f} h"
    return f"{days:.0f} days"


def _some(refs: Sequence[str]) -> str:
    return ", ".join(refs[:4]) + (", …" if len(refs) > 4 else "")
