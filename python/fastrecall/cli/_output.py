"""Data on stdout."""

from __future__ import annotations

import json
import sys

from fastrecall._visible import visible_json


def print_json(document: object) -> None:
    """Print a document as JSON."""
    write_json(json.dumps(document, ensure_ascii=False, indent=1) + "\n")


def write_json(text: str) -> None:
    """Print a text that is JSON; what a terminal would obey or hide in it stands as escapes."""
    sys.stdout.write(visible_json(text))
