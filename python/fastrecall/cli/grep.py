"""``fastrecall grep``: find code by its syntax."""

from __future__ import annotations

import click

from fastrecall.cli._kinds import Place
from fastrecall.cli._output import print_json


@click.command("grep")
@click.argument("pattern")
@click.argument("path", type=Place(), default=".")
@click.option("--language", metavar="NAME", help="Search only files of this language, e.g. rust.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON, with the whole text.")
def command(pattern: str, path: str, language: str | None, as_json: bool) -> None:
    """Find code of the shape of PATTERN below PATH: no index, no model, same order every time.

    PATTERN is code in which $NAME stands for any one node and $$$NAME for any number of them:
    `fastrecall grep '$X.unwrap()' src`. Each file is searched in its own language, wherever the
    pattern is valid code. Lines are PATH:LINE:COLUMN: and the first line of the match; nothing
    found is exit code 0 and no line.
    """
    from dataclasses import asdict

    from fastrecall._term import note
    from fastrecall._visible import visible
    from fastrecall.report.format import plural
    from fastrecall.search.grep import structural_search

    matches = structural_search(pattern, path, language=language)
    if as_json:
        print_json([asdict(match) for match in matches])
        return
    for match in matches:
        first, _, rest = match.text.partition("\n")
        text = visible(first) + (" …" if rest else "")
        click.echo(f"{visible(match.path)}:{match.line}:{match.column}: {text}")
    note(plural(len(matches), "match", "matches"))
