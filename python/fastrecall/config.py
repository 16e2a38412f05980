"""Settings: one strict file, read whole from the first place that has one.

``defaults.toml`` beside this module holds every key with its default and the reason for it.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from fastrecall._files import atomic_write
from fastrecall._toml import loads
from fastrecall.errors import InputError

PROJECT_FILE = "fastrecall.toml"
CONTEXT_CHARACTERS: Mapping[str, int] = {"full": 4000, "snippets": 600, "signatures": 200}
"""Characters of each candidate that the language model reads, by ``context_level``."""

LARGEST_COUNT = 100_000
"""Of nodes returned, seeds, steps or threads: more than anybody means, and what fits in memory."""

_PROTOCOLS = ("published", "leave-one-out", "duplicates", "past-only", "shuffled")
_LINKS = ("published", "github", "linked", "title", "mentions")


@dataclass(frozen=True)
class EvalSettings:
    """``[eval]``: defaults of the options of those names (`eval`, `sweep`, `gold`, `links`)."""

    model: str
    protocols: tuple[str, ...]
    query: str
    budget: int
    depth: int
    undirected: bool
    links: tuple[str, ...]
    window_prs: int
    window_issues: int
    author_filter: str


@dataclass(frozen=True)
class IndexSettings:
    """``[index]``: how a corpus is prepared."""

    descriptions: str


@dataclass(frozen=True)
class ReasoningSettings:
    """``[search.reasoning]``: the language model that re-ranks."""

    enabled: bool
    model: str
    max_candidates: int
    context_level: str
    reasoning_weight: float
    final_top_k: int
    k: int
    temperature: float
    timeout: float
    retries: int
    base_url: str

    @property
    def context_characters(self) -> int:
        """How much of a candidate the model reads."""
        return CONTEXT_CHARACTERS[self.context_level]


@dataclass(frozen=True)
class Tried:
    """A place where settings may stand, and what was found there."""

    path: Path
    state: str
    """``read``, ``not there`` or ``not needed`` (an earlier place had a file)."""


@dataclass(frozen=True)
class Config:
    """All settings, and where they came from (``source`` is ``None`` for the defaults)."""

    eval: EvalSettings
    index: IndexSettings
    reasoning: ReasoningSettings
    source: Path | None = None
    tried: tuple[Tried, ...] = ()


def load_config(
    path: str | os.PathLike[str] | None = None, *, folder: Path | None = None
) -> Config:
    """Read the settings: *path* > ``fastrecall.toml`` > the user's file > the defaults.

    Args:
        path: this file and no other.
        folder: where the project's file is looked for; the current folder when ``None``.

    Raises:
        InputError: names the file, the key and what was expected.

    >>> load_config(folder=Path("/nowhere")).reasoning.max_candidates
    25
    """
    tried = config_places(path, folder=folder)
    source = next((place.path for place in tried if place.state == "read"), None)
    if source is None:
        return _parsed(default_text(), "the defaults", None, tried)
    return _parsed(_read(source), str(source), source, tried)


def config_places(
    path: str | os.PathLike[str] | None = None, *, folder: Path | None = None
) -> tuple[Tried, ...]:
    """Where settings are looked for, in order, and which file is the one that is read.

    Takes what `load_config` takes, and opens nothing.

    >>> [place.path.name for place in config_places(folder=Path("/nowhere"))]
    ['fastrecall.toml', 'config.toml']
    """
    if path is not None:
        return (Tried(Path(path), "read"),)
    places = [(folder or _current_folder()) / PROJECT_FILE]
    with contextlib.suppress(RuntimeError):  # nobody's home is known
        places.append(user_config_path())
    tried: list[Tried] = []
    found = False
    for place in places:
        there = not found and place.is_file()
        tried.append(Tried(place, "read" if there else "not needed" if found else "not there"))
        found = found or there
    return tuple(tried)


def _current_folder() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise InputError("the current folder was removed; go to one that is there") from None


def config_init(path: str | os.PathLike[str] = PROJECT_FILE, *, overwrite: bool = False) -> Path:
    """Write the commented file with every default; returns its path.

    Raises:
        InputError: a file is there and *overwrite* is false.
        CacheError: it cannot be written.

    >>> import tempfile
    >>> written = config_init(Path(tempfile.mkdtemp()) / "fastrecall.toml")
    >>> load_config(written).eval.budget
    32
    """
    path = Path(path)
    if path.exists() and not overwrite:
        raise InputError(f"{path} exists; choose another name, or overwrite it with --force")
    with atomic_write(path) as file:
        file.write(default_text())
    return path


def reasoning_value(key: str, value: object, *, origin: str) -> Any:
    """A value for one key of ``[search.reasoning]``, checked as if it stood in the file *origin*.

    Raises:
        InputError: names the origin, the key and what was expected.

    >>> reasoning_value("temperature", 1, origin="--grid")
    1.0
    """
    type_name = next(str(field.type) for field in fields(ReasoningSettings) if field.name == key)
    return _checked(f"search.reasoning.{key}", type_name, value, origin)


def default_text() -> str:
    """``defaults.toml`` as it is shipped."""
    return files("fastrecall").joinpath("defaults.toml").read_text(encoding="utf-8")


def user_config_path() -> Path:
    """The user's file: below ``XDG_CONFIG_HOME`` or ``~/.config``, on Windows below ``APPDATA``."""
    variable = "APPDATA" if sys.platform == "win32" else "XDG_CONFIG_HOME"
    base = os.environ.get(variable)
    return (Path(base) if base else Path.home() / ".config") / "fastrecall" / "config.toml"


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot read settings {file}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is not UTF-8 (byte {error.start}); save it as UTF-8") from error


def _parsed(text: str, name: str, source: Path | None, tried: tuple[Tried, ...]) -> Config:
    try:
        document = loads(text)
    except ValueError as error:
        raise InputError(f"{name} is not TOML: {error}") from error
    _same_keys(document, ("eval", "index", "search"), "", name)
    search = _table(document, "search", "", name)
    _same_keys(search, ("reasoning",), "search.", name)
    return Config(
        eval=_section(EvalSettings, _table(document, "eval", "", name), "eval", name),
        index=_section(IndexSettings, _table(document, "index", "", name), "index", name),
        reasoning=_reasoning(_table(search, "reasoning", "search.", name), name),
        source=source,
        tried=tried,
    )


def _reasoning(table: Mapping[str, Any], name: str) -> ReasoningSettings:
    settings = _section(ReasoningSettings, table, "search.reasoning", name)
    if settings.enabled and not settings.model:
        raise InputError(
            f'{name}: search.reasoning.model is ""; '
            "expected provider:model, since search.reasoning.enabled is true"
        )
    return settings


_Section = TypeVar("_Section", EvalSettings, IndexSettings, ReasoningSettings)


def _section(kind: type[_Section], table: Mapping[str, Any], prefix: str, name: str) -> _Section:
    keys = {field.name: field.type for field in fields(kind)}
    _same_keys(table, tuple(keys), f"{prefix}.", name)
    values = {
        key: _checked(f"{prefix}.{key}", str(type_name), table[key], name)
        for key, type_name in keys.items()
    }
    return kind(**values)


def _checked(path: str, type_name: str, value: Any, name: str) -> Any:
    expected = _type_problem(value, type_name) or (_RULES[path](value) if path in _RULES else None)
    if expected:
        raise InputError(f"{name}: {path} is {_shown(value)}; expected {expected}")
    if type_name == "float":
        return float(value)
    return tuple(value) if isinstance(value, list) else value


def _table(document: Mapping[str, Any], key: str, prefix: str, name: str) -> Mapping[str, Any]:
    table = document[key]
    if not isinstance(table, dict):
        raise InputError(
            f"{name}: {prefix}{key} is {_shown(table)}; expected a table [{prefix}{key}]"
        )
    return table


def _same_keys(table: Mapping[str, Any], expected: tuple[str, ...], prefix: str, name: str) -> None:
    for key in table:
        if key not in expected:
            close = difflib.get_close_matches(key, expected, n=1)
            hint = f"did you mean {prefix}{close[0]}?" if close else f"known: {', '.join(expected)}"
            raise InputError(f"{name}: unknown key {prefix}{key}; {hint}")
    for key in expected:
        if key not in table:
            raise InputError(
                f"{name}: missing key {prefix}{key}; the file holds every key, "
                "`fastrecall config init` writes them all with their defaults"
            )


def _type_problem(value: object, type_name: str) -> str | None:
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    is_texts = isinstance(value, list) and all(isinstance(item, str) for item in value)
    fits, expected = {
        "str": (isinstance(value, str), "a text in quotes"),
        "int": (is_integer, "a whole number"),
        "float": (is_integer or isinstance(value, float), "a number"),
        "bool": (isinstance(value, bool), "true or false"),
        "tuple[str, ...]": (is_texts, "a list of texts"),
    }[type_name]
    return None if fits else expected


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


_Rule = Callable[[Any], "str | None"]
"""What was expected, when the value does not fit; else ``None``."""


def _between(low: float, high: float | None = None) -> _Rule:
    expected = f"{low:g} or more" if high is None else f"{low:g} to {high:g}"
    top = sys.float_info.max if high is None else high
    return lambda value: None if low <= value <= top else expected


def _one_of(*names: str) -> _Rule:
    return lambda value: None if value in names else f"one of {', '.join(names)}"


def _some_of(*names: str) -> _Rule:
    expected = f"at least one of {', '.join(names)}"
    return lambda value: None if value and set(value) <= set(names) else expected


def _positive(value: float) -> str | None:
    return None if 0 < value < float("inf") else "a number above 0"


def _filled(value: str) -> str | None:
    return None if value.strip() else "a name"


def _expression(value: str) -> str | None:
    try:
        re.compile(value)
    except re.error as error:
        return f"a regular expression ({error})"
    return None


def _provider_model(value: str) -> str | None:
    provider, colon, model = value.partition(":")
    whole = not value or (provider.strip() and colon and model.strip())
    return None if whole else 'provider:model, or ""'


def _web_address(value: str) -> str | None:
    if not value:
        return None
    try:
        parts = urlsplit(value)
        _ = parts.port  # raises for what is no number
    except ValueError as error:
        return f"an http or https address ({error})"
    fits = parts.scheme in ("http", "https") and parts.hostname and parts.username is None
    return None if fits else 'an http or https address without user name, or ""'


_RULES: Mapping[str, _Rule] = {
    "eval.model": _filled,
    "eval.protocols": _some_of("all", *_PROTOCOLS),
    "eval.query": _one_of("title", "body", "title+body"),
    "eval.budget": _between(1, LARGEST_COUNT),
    "eval.depth": _between(1, LARGEST_COUNT),
    "eval.links": _some_of(*_LINKS),
    "eval.window_prs": _between(0),
    "eval.window_issues": _between(0),
    "eval.author_filter": _expression,
    "index.descriptions": _one_of("off", "on"),
    "search.reasoning.model": _provider_model,
    "search.reasoning.max_candidates": _between(1),
    "search.reasoning.context_level": _one_of(*CONTEXT_CHARACTERS),
    "search.reasoning.reasoning_weight": _between(0),
    "search.reasoning.final_top_k": _between(1),
    "search.reasoning.k": _between(0),
    "search.reasoning.temperature": _between(0, 2),
    "search.reasoning.timeout": _positive,
    "search.reasoning.retries": _between(0, 10),
    "search.reasoning.base_url": _web_address,
}
