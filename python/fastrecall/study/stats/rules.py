"""The table of traces: the one in the package, and what a user adds to it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fastrecall import _toml
from fastrecall.errors import InputError

_NAMES = ("accounts", "bots", "words")
_EXPRESSIONS = ("emails", "authors", "lines", "comments", "titles", "branches")
_AUTOMATION = ("accounts", "logins")

Pattern = re.Pattern[str]
_NEVER = re.compile(r"(?!)")


@dataclass(frozen=True)
class Agent:
    """One coding agent: its title, the names by which it is known, and what it leaves in texts.

    The fields are explained at the head of ``traces.toml``; names and words are in lower case.
    """

    key: str
    title: str
    words: tuple[str, ...]
    accounts: frozenset[str]
    bots: frozenset[str]
    emails: Pattern
    authors: Pattern
    lines: Pattern
    comments: Pattern
    titles: Pattern
    branches: Pattern

    def is_account(self, login: str, *, is_bot: bool) -> bool:
        """Whether a PR's author is the agent itself."""
        name = login.lower()
        return name in self.accounts or (is_bot and name in self.bots)


@dataclass(frozen=True)
class Rules:
    """All agents, and what counts as automation."""

    agents: tuple[Agent, ...]
    accounts: frozenset[str]
    logins: Pattern
    sources: tuple[str, ...] = field(default=("built in",))

    def is_automation(self, login: str, *, is_bot: bool) -> bool:
        """Whether an account is a program that is no coding agent."""
        name = login.lower()
        if not name or any(agent.is_account(login, is_bot=is_bot) for agent in self.agents):
            return False
        return is_bot or name in self.accounts or self.logins.fullmatch(name) is not None


def load_rules(extra: str | os.PathLike[str] | None = None) -> Rules:
    """The rules of the package, with those of a file added.

    Raises:
        InputError: the file cannot be read, or holds something else.

    >>> [agent.key for agent in load_rules().agents]
    ['copilot', 'claude', 'devin', 'cursor', 'codex', 'jules', 'aider']
    """
    tables = [_toml.packaged("fastrecall.study.stats", "traces.toml")]
    sources = ["built in"]
    if extra is not None:
        tables.append(_read(Path(extra)))
        sources.append(Path(extra).name)
    agents: dict[str, dict[str, Any]] = {}
    automation: dict[str, list[str]] = {name: [] for name in _AUTOMATION}
    for source, table in zip(sources, tables, strict=True):
        for key, found in _table(table, "agents", source).items():
            agent = agents.setdefault(key, {"title": key})
            for name, value in _checked(found, f"agents.{key}", source).items():
                agent[name] = value if name == "title" else [*agent.get(name, ()), *value]
        for name, value in _table(table, "automation", source).items():
            if name not in _AUTOMATION:
                raise _unknown(source, f"automation.{name}", _AUTOMATION)
            automation[name] += _texts(value, f"automation.{name}", source)
        for name in table:
            if name not in ("agents", "automation"):
                raise _unknown(source, name, ("agents", "automation"))
    return Rules(
        tuple(_agent(key, agent) for key, agent in agents.items()),
        frozenset(name.lower() for name in automation["accounts"]),
        _any_of("automation.logins", automation["logins"]),
        tuple(sources),
    )


def _read(path: Path) -> dict[str, Any]:
    try:
        return _toml.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:  # not UTF-8, or not TOML
        raise InputError(f"{path} is not valid TOML: {error}") from error


def _table(table: Mapping[str, Any], name: str, source: str) -> Mapping[str, Any]:
    found = table.get(name, {})
    if not isinstance(found, dict):
        raise InputError(f"{source}: {name} is no table; expected [{name}]")
    return found


def _checked(agent: Any, where: str, source: str) -> dict[str, Any]:
    if not isinstance(agent, dict):
        raise InputError(f"{source}: {where} is no table; expected [{where}]")
    known = ("title", *_NAMES, *_EXPRESSIONS)
    for name, value in agent.items():
        if name not in known:
            raise _unknown(source, f"{where}.{name}", known)
        if name == "title":
            if not isinstance(value, str):
                raise InputError(f"{source}: {where}.title is no text")
            continue
        _texts(value, f"{where}.{name}", source)
        if name in _EXPRESSIONS:
            _any_of(f"{source}: {where}.{name}", value)
    return agent


def _texts(value: Any, where: str, source: str) -> list[str]:
    if isinstance(value, list) and all(isinstance(one, str) and one for one in value):
        return value
    raise InputError(f"{source}: {where} is no list of texts; expected one like ['a', 'b']")


def _unknown(source: str, name: str, known: tuple[str, ...]) -> InputError:
    return InputError(f"{source}: unknown key {name}; known: {', '.join(known)}")


def _agent(key: str, agent: Mapping[str, Any]) -> Agent:
    names = {name: [one.lower() for one in agent.get(name, ())] for name in _NAMES}
    expressions = {name: _any_of(name, agent.get(name, ())) for name in _EXPRESSIONS}
    return Agent(
        key=key,
        title=agent["title"],
        words=tuple(names["words"]) or (key.lower(),),
        accounts=frozenset(names["accounts"]),
        bots=frozenset(names["bots"]),
        **expressions,
    )


def _any_of(where: str, expressions: list[str] | tuple[str, ...]) -> Pattern:
    """One pattern for several expressions, over lower-case text."""
    for one in expressions:
        try:
            re.compile(one)
        except re.error as error:  # noqa: PERF203 - the expression belongs into the message
            raise InputError(f"{where}: {one!r} is no regular expression: {error}") from error
    if not expressions:
        return _NEVER
    return re.compile("|".join(f"(?:{one})" for one in expressions), re.MULTILINE | re.IGNORECASE)
