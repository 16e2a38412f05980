"""``fastrecall serve``: recall for assistants, over MCP."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import click

from fastrecall.cli._hints import index_command
from fastrecall.cli._kinds import Place
from fastrecall.cli._options import stack

if TYPE_CHECKING:
    from fastrecall.serve.memory import ProjectMemory

_LAST_SECONDS = 3.0
"""How long a server that is told to end may take to keep its counts."""

memory_options = stack(
    click.argument("corpus", type=Place(), required=False),
    click.option(
        "--index", "index_path", type=Place(), help="The folder that `index --out` wrote."
    ),
    click.option(
        "--memory",
        "memory_path",
        type=Place(),
        help="Where notes are kept.  [default: a folder for CORPUS in the data folder]",
    ),
    click.option("--model", metavar="NAME", help="Refuse an index that another model made."),
)


@click.command("serve")
@memory_options
def command(
    corpus: str | None, index_path: str | None, memory_path: str | None, model: str | None
) -> None:
    """Serve recall over MCP on stdin and stdout, until stdin ends.

    CORPUS is what `fastrecall index` was given; without it there are only notes. Tools: recall,
    remember, forget, memory_status, explain. docs/serving.md tells how to register it.
    """
    from fastrecall._lazy import require

    require("mcp", extra="mcp", purpose="the server")
    from fastrecall.serve.mcp_server import make_server

    memory = open_memory(corpus, index_path, memory_path, model)
    memory.keep_counts()
    _leave_at_once(memory)
    try:
        make_server(memory).run("stdio")
    finally:
        memory.close()


def _leave_at_once(memory: ProjectMemory) -> None:
    """End at Ctrl-C and SIGTERM, although a thread waits for stdin and cannot be woken.

    Notes are on disk once they are acknowledged; only the counts are to be kept.
    """

    def leave(number: int, _frame: FrameType | None) -> None:
        # On another thread: this one may hold what closing waits for.
        last = threading.Thread(target=memory.close, daemon=True)
        last.start()
        last.join(_LAST_SECONDS)
        os._exit(128 + number)

    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, leave)


def open_memory(
    corpus: str | None, index_path: str | None, memory_path: str | None, model: str | None
) -> ProjectMemory:
    """The memory that a command line names; nothing in it is opened yet."""
    from fastrecall.errors import CacheError
    from fastrecall.search.index.place import index_folder, read_manifest
    from fastrecall.serve.memory import ProjectMemory, memory_folder

    index = Path(index_path) if index_path else None if corpus is None else index_folder(corpus)
    if index is not None and read_manifest(index) is None:
        command = index_command(corpus, index_path)
        raise CacheError(f"there is no index to serve; build it first: {command}")
    folder = Path(memory_path) if memory_path else memory_folder(corpus)
    return ProjectMemory(index, folder, model=model)
