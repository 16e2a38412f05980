"""``fastrecall info``: what this installation is made of."""

from __future__ import annotations

import platform
import sys

import click

from fastrecall.cli._config import config_file
from fastrecall.cli._output import print_json

PACKAGES = ("numpy", "pyarrow", "onnxruntime", "tokenizers")


@click.command("info")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def command(as_json: bool) -> None:
    """Show versions, instruction sets, threads, folders, settings files and build flags."""
    facts = _facts()
    if as_json:
        print_json(facts)
        return
    width = max(map(len, facts))
    for name, value in facts.items():
        click.echo(f"{name:<{width}}  {value if isinstance(value, str) else _plain(value)}")


def _facts() -> dict[str, object]:
    from fastrecall import _core
    from fastrecall._threads import usable_cores
    from fastrecall.config import config_places
    from fastrecall.search.index.place import BEST_UP_TO, EVIDENCE_ARM, FUSION_ARM

    facts: dict[str, object] = {
        "fastrecall": _core.__version__,
        "python": f"{platform.python_version()} ({sys.platform}, {platform.machine()})",
        "instruction set": _core.isa(),
        "available": _core.available_isas(),
        "compiled": _core.compiled_isas(),
        "threads": usable_cores(),
        "search ranks by": f"{EVIDENCE_ARM} up to {BEST_UP_TO:,} tickets, {FUSION_ARM} beyond",
        "cache folder": _cache_folder(),
        "settings files": [
            f"{place.path} ({place.state})" for place in config_places(config_file().path)
        ],
    }
    facts |= {package: _version(package) for package in PACKAGES}
    return facts | {f"build: {name}": value for name, value in _core.build_info().items()}


def _cache_folder() -> str:
    from fastrecall.embedding import cache_folder
    from fastrecall.errors import CacheError

    try:
        return str(cache_folder())
    except CacheError as error:
        return f"none: {error}"


def _version(package: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _plain(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
