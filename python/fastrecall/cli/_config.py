"""The settings file of a call: read when it is first needed, and by whom."""

from __future__ import annotations

from dataclasses import fields
from functools import cached_property
from typing import Any

import click

from fastrecall.config import Config, load_config

CONFIGURED = frozenset({"eval", "gold", "index", "links", "sweep", "code-eval", "code-sweep"})
"""Commands whose options have their defaults in ``[eval]``."""


class ConfigFile:
    """The settings of this call, from ``--config FILE`` or the usual places."""

    def __init__(self, path: str | None = None) -> None:
        self.path = path

    @cached_property
    def config(self) -> Config:
        """The settings, read at the first look."""
        return load_config(self.path)


def config_file() -> ConfigFile:
    """The settings file of the command that is running."""
    return click.get_current_context().ensure_object(ConfigFile)


def option_defaults(config: Config, command: str) -> dict[str, Any]:
    """``[eval]`` as defaults of a command's options, by the names that it gives its parameters.

    An index follows all links that are known, whichever of them are measured.

    >>> from pathlib import Path
    >>> config = load_config(folder=Path("/nowhere"))
    >>> option_defaults(config, "eval")["links"]
    'published'
    >>> "links" in option_defaults(config, "index")
    False
    """
    values = {field.name: getattr(config.eval, field.name) for field in fields(config.eval)}
    links = "+".join(values.pop("links"))
    return values if command == "index" else values | {"links": links}
