"""``fastrecall config``: write the settings file, show what holds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from fastrecall.cli._config import config_file
from fastrecall.cli._kinds import Place
from fastrecall.cli._output import print_json, write_json
from fastrecall.config import PROJECT_FILE

if TYPE_CHECKING:
    from fastrecall.config import Config


@click.group("config")
def command() -> None:
    """Write the settings file, or show which one is read and what holds.

    Settings are one strict file with every key, so that nothing depends on what is not in it. The
    first of these is read, alone: the file of `fastrecall --config FILE COMMAND`, fastrecall.toml
    in the current folder, the user's file (`fastrecall config show` says where), the defaults.
    Options on the command line win over all of them.
    """


@command.command("init")
@click.argument("path", type=Place(), default=PROJECT_FILE)
@click.option("--force", is_flag=True, help="Overwrite a file that is there.")
def init(path: str, force: bool) -> None:
    """Write every setting with its default and the reason for it to PATH.

    PATH is fastrecall.toml in the current folder unless said.
    """
    from fastrecall._term import note
    from fastrecall.config import config_init

    note(f"settings written to {config_init(path, overwrite=force)}")


@command.command("show")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def show(as_json: bool) -> None:
    """Show which files were tried and read, and every setting that holds.

    The output is a settings file itself, without the reasons.
    """
    config = config_file().config
    tables = _tables(config)
    if as_json:
        places = [{"path": str(place.path), "state": place.state} for place in config.tried]
        print_json({"files": places, "settings": tables})
        return
    for place in config.tried:
        click.echo(f"# {place.path}: {place.state}")
    if config.source is None:
        click.echo("# no file was read: these are the defaults")
    for name, table in tables.items():
        click.echo(f"\n[{name}]")
        for key, value in table.items():
            # JSON's texts, numbers, booleans and lists of texts are TOML's.
            write_json(f"{key} = {json.dumps(value, ensure_ascii=False)}\n")


def _tables(config: Config) -> dict[str, dict[str, Any]]:
    from dataclasses import asdict

    return {
        "eval": asdict(config.eval),
        "index": asdict(config.index),
        "search.reasoning": asdict(config.reasoning),
    }
