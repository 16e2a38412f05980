"""The terminal: stdout is data, stderr is talk; no bar where nobody watches."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator


def note(message: str) -> None:
    """Say something to the person at the terminal, on stderr."""
    print(message, file=sys.stderr, flush=True)


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
