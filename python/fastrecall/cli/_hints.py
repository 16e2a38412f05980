"""Commands that a message tells to run next."""

from __future__ import annotations

import shlex


def index_command(corpus: str | None, index_path: str | None = None) -> str:
    """The command that writes the index of a corpus, as it can be pasted.

    >>> index_command("my corpus", "ix")
    "fastrecall index 'my corpus' --out ix"
    """
    place = "" if index_path is None else f" --out {shlex.quote(index_path)}"
    return f"fastrecall index {shlex.quote(corpus) if corpus else 'CORPUS'}{place}"
