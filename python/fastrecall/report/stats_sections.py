"""The figures of `fastrecall stats`, arranged in sections that a terminal and a page both show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from fastrecall.report.format import count, interval, percent, plural

Block: TypeAlias = Mapping[str, Any]

_MONTHS = 12
_ACCOUNTS = 10
_GROUPS = 5
_WORKS = {"issues": "issue", "prs": "PR"}


@dataclass(frozen=True)
class Table:
    """Rows of text under headings; the last column may be long.

    ``shares`` are as many as rows, each with ``rate`` and ``wilson95``, for those who draw bars.
    """

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    shares: tuple[Block, ...] = ()

    @property
    def kinds(self) -> list[str]:
        """What each column holds: ``count``, ``text``, or ``long`` text that may be broken.

        >>> Table(("agent", "PRs", "such as"), (("Jules", "1,030", "#4, #5"),)).kinds
        ['text', 'count', 'long']
        """
        kinds = [
            "count" if all(cell.replace(",", "").isdecimal() for cell in column) else "text"
            for column in zip(*self.rows, strict=True)
        ]
        if kinds[-1] == "text" and not self.shares:
            kinds[-1] = "long"
        return kinds


@dataclass(frozen=True)
class Section:
    """One finding: its title, what it counts in one sentence, its tables."""

    key: str
    title: str
    sentence: str
    tables: tuple[Table, ...]


def stats_sections(stats: Block) -> list[Section]:
    """The sections of a document of `project_stats`, those without a row included.

    In a corpus of one repository tickets are called ``#12``, in others ``owner/name#12``.
    """
    repos = stats["corpus"]["repos"]
    if len(repos) == 1:
        stats = _without(f"{repos[0]}#", stats)
    return [
        _agents(stats["agents"]),
        _automation(stats["automation"]),
        _returns(stats["returns"]),
        _titles(stats),
        _links(stats),
    ]


def _without(repository: str, value: Any) -> Any:
    """The document with short references: in one repository ``#12`` says enough."""
    if isinstance(value, str):
        return f"#{value.removeprefix(repository)}" if value.startswith(repository) else value
    if isinstance(value, dict):
        return {key: _without(repository, one) for key, one in value.items()}
    if isinstance(value, list):
        return [_without(repository, one) for one in value]
    return value


def _agents(agents: Block) -> Section:
    rows = [
        (agent["title"], count(agent["prs"]), count(len(agent["accounts"])),
         count(len(agent["texts"])), ", ".join((agent["accounts"] + agent["texts"])[:3]))
        for agent in agents["by_agent"].values()
        if agent["prs"]
    ]  # fmt: skip
    months = agents["months"][-_MONTHS:]
    by_month = [
        (row["month"], count(row["prs"]), count(row["of"]), percent(row["share"]),
         interval(row["wilson95"]))
        for row in months
    ]  # fmt: skip
    shares = [{"rate": row["share"], "wilson95": row["wilson95"]} for row in months]
    return Section(
        "agents",
        f"Coding agents: at least {_share(agents)}",
        "Direct traces only (accounts, trailers, links, branches); agents can leave none.",
        (
            *_table(("agent", "PRs", "by account", "by text", "such as"), rows),
            *_table(("month", "with traces", "PRs", "share", "Wilson 95 %"), by_month, shares),
        ),
    )


def _automation(automation: Block) -> Section:
    accounts = list(automation["by_account"].items())
    rows = [(login, count(prs)) for login, prs in accounts[:_ACCOUNTS]]
    if len(accounts) > _ACCOUNTS:
        rest = accounts[_ACCOUNTS:]
        rows.append((f"{plural(len(rest), 'more account')}", count(sum(prs for _, prs in rest))))
    return Section(
        "automation",
        f"Automation: {_share(automation)}",
        "Accounts that open PRs by rule, and other bots; coding agents are not among them.",
        _table(("account", "PRs"), rows),
    )


def _returns(returns: Block) -> Section:
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
    return Section("returns", "Work that returns", "", _table(("what", "number", ""), rows))


def _titles(stats: Block) -> Section:
    threshold, model = stats["settings"]["threshold"], stats["settings"]["model"]
    rows = []
    for kind, noun in _WORKS.items():
        for how in ("exact", "near"):
            block = stats["titles"][kind][how]
            if block is None:  # it would have taken too much memory: a note says so
                continue
            rows.append(
                (f"{noun}s, {how}", count(block["groups"]), count(block["tickets"]),
                 _days(block["median_days_between"]))
            )  # fmt: skip
    tables = list(_table(("titles", "groups", "tickets", "back after (median)"), rows))
    for kind, noun in _WORKS.items():
        titles = stats["titles"][kind]
        named = [
            (count(one["size"]), _days(one["median_days_between"]), one["title"])
            for one in (titles["near"] or titles["exact"])["top"][:_GROUPS]
        ]
        tables += _table((f"{noun}s", "back after", "title of the first"), named)
    return Section(
        "titles",
        "Groups of near-identical titles",
        "exact: equal but for numbers, versions, dates and hashes; "
        f"near: a chain of titles with cosine {threshold:g} or more ({model}).",
        tuple(tables),
    )


def _links(stats: Block) -> Section:
    returns = stats["returns"]
    issues, prs = returns["issues_of_several_prs"], returns["prs_of_several_issues"]
    rows = [
        ("issues closed by several PRs", count(issues["issues"]),
         f"next PR {_days(issues['median_days_between'])} later"),
        ("PRs that close several issues", count(prs["prs"]), ""),
    ]  # fmt: skip
    tables = list(_table(("what", "number", ""), rows))
    for block, noun in ((issues, "issue"), (prs, "PR")):
        top = [
            (one["ref"], count(len(one["others"])), one["title"]) for one in block["top"][:_GROUPS]
        ]
        tables += _table((noun, "links", "title"), top)
    return Section(
        "many",
        "Many to many",
        f"Closing links by source: {'+'.join(stats['settings']['links'])}.",
        tuple(tables),
    )


def _table(
    headings: tuple[str, ...], rows: Sequence[tuple[str, ...]], shares: Sequence[Block] = ()
) -> tuple[Table, ...]:
    """A table, or none where there are no rows."""
    return (Table(headings, tuple(rows), tuple(shares)),) if rows else ()


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
