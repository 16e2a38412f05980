"""What the generator planted: the right answer to every count that a report can make."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from fastrecall.corpus.demo.accounts import AUTOMATION, GHOST
from fastrecall.corpus.demo.draft import Draft, Evidence
from fastrecall.corpus.demo.links import ADDRESS


class PlantedDuplicate(NamedTuple):
    """An issue that repeats an older one, and what shows it."""

    issue: int
    original: int
    evidence: Evidence


@dataclass(frozen=True)
class DemoTruth:
    """Numbers of the tickets that show each planted fact, ascending.

    Issues and pull requests share one sequence of numbers. Pairs are (issue, PR). Everything
    counts before the author filter. The default filter takes away the ``bot_prs`` of all accounts
    but the project's own ``lattice-bot``; each title group goes as a whole or stays as a whole.
    """

    published_pairs: tuple[tuple[int, int], ...]
    github_pairs: tuple[tuple[int, int], ...]
    linked_pairs: tuple[tuple[int, int], ...]
    title_pairs: tuple[tuple[int, int], ...]
    address_pairs: tuple[tuple[int, int], ...]
    """The PR gives the issue's address without a closing word."""
    duplicates: tuple[PlantedDuplicate, ...]
    reverts: tuple[tuple[int, int], ...]
    """(reverting PR, reverted PR)."""
    flaky: tuple[int, ...]
    """Issues and PRs with ``flaky`` in the title, in any case."""
    regressions: tuple[int, ...]
    """Issues with ``regression`` in the title, in any case."""
    title_groups: tuple[tuple[int, ...], ...]
    """Tickets of one kind whose titles differ in numbers, hashes and versions only."""
    bot_prs: Mapping[str, tuple[int, ...]]
    """PRs of automation by account, without ``app/``: not the coding agents."""
    agent_accounts: Mapping[str, tuple[int, ...]]
    """PRs opened by the account of each coding agent."""
    agent_texts: Mapping[str, tuple[int, ...]]
    """PRs whose body holds a trailer, line or link of each coding agent."""
    false_friends: Mapping[str, tuple[int, ...]]
    """PRs that name an agent's word without an agent, by kind: bump, path, person, text cursor."""
    coauthored: tuple[int, ...]
    """PRs with a co-author trailer, of a person or of an agent."""
    ghosts: tuple[int, ...]
    """Tickets of deleted accounts."""

    @property
    def issues_of_several_prs(self) -> dict[int, tuple[int, ...]]:
        """Issues that more than one PR closes, by the published expression."""
        return _several(self.published_pairs)

    @property
    def prs_of_several_issues(self) -> dict[int, tuple[int, ...]]:
        """PRs that close more than one issue, by the published expression."""
        return _several((pr, issue) for issue, pr in self.published_pairs)


def truth_of(drafts: list[Draft]) -> DemoTruth:
    """Read the planted facts off the plan, not off the texts."""
    prs = [draft for draft in drafts if draft.is_pr]
    links = [(issue, pr, form) for pr in prs for issue, form in pr.closes]
    return DemoTruth(
        published_pairs=_pairs((issue, pr) for issue, pr, form in links if form.published),
        github_pairs=_pairs((issue, pr) for issue, pr, form in links if form.github),
        linked_pairs=_pairs((issue, pr) for pr in prs for issue in linked_issues(pr)),
        title_pairs=_pairs((issue, pr) for issue, pr, form in links if form.place == "title"),
        address_pairs=_pairs(
            (issue, pr) for pr in prs for issue, text in pr.mentions if text == ADDRESS
        ),
        duplicates=tuple(
            PlantedDuplicate(draft.number, draft.origin.number, draft.evidence)
            for draft in drafts
            if draft.origin is not None and draft.evidence is not None
        ),
        reverts=tuple(
            (pr.number, pr.origin.number)
            for pr in prs
            if pr.role == "revert" and pr.origin is not None
        ),
        flaky=tuple(draft.number for draft in drafts if draft.role in ("flaky report", "mute")),
        regressions=tuple(draft.number for draft in drafts if draft.role == "regression"),
        title_groups=_title_groups(drafts),
        bot_prs=_by((pr.account.login, pr) for pr in prs if pr.account in AUTOMATION),
        agent_accounts=_by((pr.trace.agent, pr) for pr in prs if pr.trace and pr.trace.account),
        agent_texts=_by((pr.trace.agent, pr) for pr in prs if pr.trace and pr.trace.text),
        false_friends=_by((pr.friend.kind, pr) for pr in prs if pr.friend),
        coauthored=tuple(pr.number for pr in prs if _coauthored(pr)),
        ghosts=tuple(draft.number for draft in drafts if draft.account is GHOST),
    )


def linked_issues(pr: Draft) -> list[Draft]:
    """The issues that GitHub lists as closed: by its grammar on the main branch, or by hand."""
    if pr.base != "main":
        return []
    return [issue for issue, form in pr.closes if form.github or form.place == "sidebar"]


def _pairs(links: Iterable[tuple[Draft, Draft]]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted((issue.number, pr.number) for issue, pr in links))


def _by(found: Iterable[tuple[str, Draft]]) -> dict[str, tuple[int, ...]]:
    numbers: dict[str, list[int]] = {}
    for name, draft in found:
        numbers.setdefault(name, []).append(draft.number)
    return {name: tuple(numbers[name]) for name in sorted(numbers)}


def _several(pairs: Iterable[tuple[int, int]]) -> dict[int, tuple[int, ...]]:
    others: dict[int, list[int]] = {}
    for one, other in pairs:
        others.setdefault(one, []).append(other)
    return {one: tuple(found) for one, found in sorted(others.items()) if len(found) > 1}


def _title_groups(drafts: list[Draft]) -> tuple[tuple[int, ...], ...]:
    """Tickets of one series, and the backports of one change to several branches."""
    groups: dict[str | int, list[int]] = {}
    for draft in drafts:
        if draft.series:
            groups.setdefault(draft.series, []).append(draft.number)
        elif draft.role == "backport" and draft.origin is not None:
            groups.setdefault(draft.origin.number, []).append(draft.number)
    return tuple(sorted(tuple(group) for group in groups.values() if len(group) > 1))


def _coauthored(pr: Draft) -> bool:
    texts = [source.text for source in (pr.trace, pr.friend) if source is not None]
    return pr.coauthor is not None or any("co-authored-by:" in text.lower() for text in texts)
