"""Which PRs coding agents left their traces in, and which ones automation opened."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from fastrecall.corpus.markdown import mask
from fastrecall.study.stats.rules import Agent, Rules
from fastrecall.types import Corpus, Ticket

_TRAILER = re.compile(r"^[ \t]*co-authored-by:[^<\n]*<([^<>\n]+)>", re.MULTILINE)
_PERSON = re.compile(r"^(?:author|committer): ([^<\n]*?) *<([^<>\n]*)>", re.MULTILINE)


@dataclass(frozen=True)
class Traces:
    """PR nodes, ascending: by account of an agent, by text of an agent, by automation's login."""

    accounts: dict[str, list[int]]
    texts: dict[str, list[int]]
    automation: dict[str, list[int]]

    def of_agents(self) -> list[int]:
        """Every PR node with a trace of any agent."""
        return sorted(
            {node for by in (self.accounts, self.texts) for one in by.values() for node in one}
        )

    def of_automation(self) -> list[int]:
        """Every PR node that automation opened."""
        return sorted(node for nodes in self.automation.values() for node in nodes)


def find_traces(corpus: Corpus, rules: Rules) -> Traces:
    """Go through all PRs of a corpus (which should hold bots, too: load it without author filter).

    >>> from fastrecall.corpus.build import make_corpus
    >>> from fastrecall.study.stats.rules import load_rules
    >>> body = "Co-Authored-By: Claude <noreply@anthropic.com>"
    >>> corpus = make_corpus([Ticket("", "pr", 7, "Fix", body, 0)], name="tiny")
    >>> find_traces(corpus, load_rules()).texts
    {'claude': [0]}
    """
    accounts: dict[str, list[int]] = {}
    texts: dict[str, list[int]] = {}
    automation: dict[str, list[int]] = {}
    is_automation: dict[tuple[str, bool], bool] = {}
    for node, ticket in enumerate(corpus.tickets):
        if ticket.kind != "pr":
            continue
        account = ticket.author, ticket.is_bot
        if account not in is_automation:
            is_automation[account] = rules.is_automation(account[0], is_bot=account[1])
        if is_automation[account]:
            automation.setdefault(ticket.author, []).append(node)
            continue
        for agent in rules.agents:
            if agent.is_account(ticket.author, is_bot=ticket.is_bot):
                accounts.setdefault(agent.key, []).append(node)
        for agent in _in_texts(ticket, rules.agents):
            texts.setdefault(agent.key, []).append(node)
    return Traces(accounts, texts, dict(sorted(automation.items())))


def _in_texts(ticket: Ticket, agents: tuple[Agent, ...]) -> Iterator[Agent]:
    """The agents that left something in a PR's title, body, branch or commits."""
    whole = "\n".join((ticket.title, ticket.head, ticket.body, *ticket.commits)).lower()
    candidates = [agent for agent in agents if any(word in whole for word in agent.words)]
    if not candidates:
        return
    body = ticket.body.lower().replace("\r\n", "\n")
    commits = [commit.lower() for commit in ticket.commits]
    prose = "\n".join((mask(body), *commits))
    subjects = [ticket.title.lower(), *map(_subject, commits)]
    people = [match.groups() for commit in commits for match in _PERSON.finditer(commit)]
    emails = [*_TRAILER.findall(prose), *(email for _, email in people)]
    for agent in candidates:
        if (
            any(agent.emails.fullmatch(email.strip()) for email in emails)
            or any(agent.authors.fullmatch(name) for name, _ in people)
            or any(agent.titles.match(subject) for subject in subjects)
            or agent.branches.match(ticket.head.lower())
            or agent.comments.search(body)
            or agent.lines.search(prose)
        ):
            yield agent


def _subject(commit: str) -> str:
    """The first line of a commit's message, behind the lines that tell who wrote it."""
    return commit.partition("\n\n")[2].lstrip().partition("\n")[0]
