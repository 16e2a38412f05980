"""Options for where big jobs run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from fastrecall._memory import parse_bytes
from fastrecall.cli._options import stack
from fastrecall.errors import InputError

if TYPE_CHECKING:
    from fastrecall.execution import Executor

memory_option = click.option(
    "--memory",
    metavar="AMOUNT",
    help="Keep texts and vectors in files, and hold no more than this (with --executor, in each "
    "task), such as 4GB.",
)

executor_options = stack(
    click.option(
        "--executor",
        "executor_name",
        metavar="local|ray",
        help="Work in tasks on texts and vectors in files: here, or on a cluster.",
    ),
    click.option(
        "--address",
        metavar="HOST:PORT",
        help="The Ray cluster; auto for the one of this machine.  [default: $RAY_ADDRESS, or one "
        "that is started here]",
    ),
)


@contextmanager
def chosen_executor(
    name: str | None, *, address: str | None, threads: int | None, memory: str | None
) -> Iterator[Executor | None]:
    """What runs tasks, left at the end; None when nobody asks for tasks."""
    if name is None:
        if address is not None:
            raise InputError(f"--address is {address!r} and nothing runs there; add --executor ray")
        yield None
        return
    from fastrecall.execution import executor_named

    amount = None if memory is None else parse_bytes(memory)
    with executor_named(name, address=address, threads=threads, memory=amount) as executor:
        yield executor
