"""The word lists, read once from the TOML files beside this module."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeAlias

from fastrecall._toml import packaged

Language: TypeAlias = Literal["english", "russian"]


@dataclass(frozen=True, slots=True)
class Fault:
    """One hidden cause, in the users' words by language and in the engineers' words."""

    symptoms: Mapping[Language, tuple[str, ...]]
    fixes: tuple[str, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Component:
    """One component of the made-up project."""

    name: str
    things: Mapping[Language, tuple[str, ...]]
    parts: tuple[str, ...]
    log: tuple[str, ...]
    faults: tuple[Fault, ...]


@cache
def phrases(language: Language) -> Mapping[str, tuple[str, ...]]:
    """The lists that do not belong to a component: conditions, details, headings, people …

    >>> phrases("english")["when"][0]
    'after login'
    """
    lists = _read(language)
    return {name: tuple(words) for name, words in lists.items() if name != "component"}


@cache
def components() -> tuple[Component, ...]:
    """The components with their faults, both languages together.

    >>> [component.name for component in components()][:3]
    ['storage', 'planner', 'network']
    """
    english, russian = _read("english")["component"], _read("russian")["component"]
    return tuple(
        Component(
            name=ours["name"],
            things={"english": tuple(ours["things"]), "russian": tuple(theirs["things"])},
            parts=tuple(ours["parts"]),
            log=tuple(ours["log"]),
            faults=tuple(
                Fault(
                    symptoms={"english": tuple(cause["symptoms"]), "russian": tuple(symptoms)},
                    fixes=tuple(cause["fixes"]),
                    reasons=tuple(cause["reasons"]),
                )
                for cause, symptoms in zip(ours["cause"], theirs["symptoms"], strict=True)
            ),
        )
        for ours, theirs in zip(english, russian, strict=True)
    )


@cache
def _read(language: Language) -> dict[str, Any]:
    return packaged("fastrecall.corpus.demo", f"{language}.toml")
