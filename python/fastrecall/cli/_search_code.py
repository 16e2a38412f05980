"""``fastrecall search --code``: the chunks of a source tree that answer a question."""

from __future__ import annotations

import functools
from typing import Any

import click

from fastrecall.cli._output import print_json


def search_code(question: str, tree: str, *, k: int, model: str, as_json: bool) -> None:
    """Print the *k* best chunks of *tree*, ranked as the hybrid arm of ``code-eval``."""
    from fastrecall._term import note
    from fastrecall.corpus.code import load_code
    from fastrecall.embedding import embed
    from fastrecall.report.format import plural
    from fastrecall.search.code import CodeIndex

    corpus = load_code(tree)
    index = CodeIndex.build(corpus, functools.partial(embed, model=model))
    ranking = index.search([question], k, arms=("hybrid",))["hybrid"]
    found = [corpus.chunks[at] for at in ranking.ids[0] if at >= 0]
    rows: list[dict[str, Any]] = [
        {
            "rank": rank,
            "path": chunk.path,
            "start": chunk.start,
            "end": chunk.end,
            "language": chunk.language,
            "symbols": list(chunk.symbols),
        }
        for rank, chunk in enumerate(found, 1)
    ]
    if as_json:
        print_json(rows)
        return
    for row, chunk in zip(rows, found, strict=True):
        click.echo(f"{row['rank']:2} {_plain(chunk.where)}  {_plain(', '.join(chunk.symbols))}")
    note(f"{plural(len(index), 'chunk')} of {plural(corpus.files, 'file')} searched")


def _plain(text: str) -> str:
    from fastrecall._visible import visible

    return visible(text, 160)
