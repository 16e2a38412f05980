"""The terminal: stdout is data, stderr is talk; no bar where nobody watches."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from typing import Any

from fastrecall._visible import visible_lines


def note(message: str) -> None:
    """Say something to the person at the terminal, on stderr.

    It may quote texts of strangers. Where nobody can listen the work goes on.
    """
    try:
        print(visible_lines(message), file=sys.stderr, flush=True)
    except OSError:
        let_go_of(sys.stderr)


def let_go_of(stream: Any) -> None:
    """Send what a standard stream holds, and all that comes, nowhere: nobody takes it.

    Else the interpreter would complain at exit, and change the exit code.
    """
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
        stream.flush()


def open_standard_streams() -> None:
    """Stand in for standard streams that whoever started the program has closed.

    Without that, talk would go to stdout, and the next file that is opened would be taken for one
    of them. Reading finds nothing; data that is written is an error, talk is not.
    """
    for name, mode, opened in (
        ("stdin", "r", os.O_RDONLY),
        ("stdout", "w", os.O_RDONLY),
        ("stderr", "w", os.O_WRONLY),
    ):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, opened)
            setattr(sys, name, open(descriptor, mode, encoding="utf-8"))  # noqa: PTH123, SIM115


def interactive() -> bool:
    """Whether stderr is a terminal that a progress bar may be drawn on (not under CI)."""
    return sys.stderr.isatty() and not os.environ.get("CI") and os.environ.get("TERM") != "dumb"


@contextlib.contextmanager
def progress(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """A progress bar on stderr; yields a function that advances it by that many steps.

    Draws nothing when stderr is not a terminal. ``NO_COLOR`` is obeyed by rich.

    >>> with progress("embedding", 3) as advance:
    ...     advance(3)
    """
    if not interactive() or total <= 0:
        yield lambda _steps: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        Remaining(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task(label, total=total)
        yield lambda steps: bar.advance(task, steps)


def output_width() -> tuple[int, bool]:
    """Columns of stdout, and whether it takes colour; 100 and no when it is not a terminal."""
    if not sys.stdout.isatty():
        return 100, False
    color = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return shutil.get_terminal_size().columns, color
