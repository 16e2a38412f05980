"""Where text reports are drawn: a rich console that writes to memory."""

from __future__ import annotations

import io
from typing import Any


def text_console(width: int, color: bool) -> tuple[Any, io.StringIO]:
    """A rich console that writes to memory, and that memory."""
    from rich.console import Console

    out = io.StringIO()
    console = Console(
        file=out,
        width=width,
        force_terminal=color,
        color_system="standard" if color else None,
        highlight=False,
        emoji=False,
        markup=False,
    )
    return console, out


def finished(out: io.StringIO) -> str:
    """What was written, without the blanks that fill lines."""
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"
