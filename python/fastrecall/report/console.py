"""Where text reports are drawn: a rich console that writes to memory."""

from __future__ import annotations

import io
from typing import Any

from fastrecall._visible import visible_lines


def text_console(width: int, color: bool) -> tuple[Any, io.StringIO]:
    """A rich console that writes to memory, and that memory.

    What is printed may hold texts of strangers: nothing in them hides, reorders or commands.
    """
    from rich.console import Console
    from rich.text import Text

    class Harmless(Console):
        def render_str(self, text: str, *args: Any, **options: Any) -> Text:
            return super().render_str(visible_lines(text), *args, **options)

    out = io.StringIO()
    console = Harmless(
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
