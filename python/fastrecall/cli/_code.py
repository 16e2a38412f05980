"""Options of the commands that search a source tree, and what they read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fastrecall.cli._config import config_file
from fastrecall.cli._kinds import Place
from fastrecall.cli._options import stack

if TYPE_CHECKING:
    from fastrecall.corpus.code import CodeCorpus
    from fastrecall.corpus.code_gold import CodeGold
    from fastrecall.search.code import Include

code_options = stack(
    click.argument("path", type=Place()),
    click.option(
        "--queries",
        type=Place(),
        required=True,
        help="CSV query,result1,result2,result3; each result is path:start-end:grade.",
    ),
    click.option(
        "--commit",
        metavar="REV",
        help="Read this commit, tag or branch; the work tree is not touched.",
    ),
    click.option(
        "--include",
        type=click.Choice(["code", "all"]),
        default="code",
        show_default=True,
        help="What may answer: programming languages, or prose and configuration, too.",
    ),
)


def read_code(path: str, *, queries: str, commit: str | None) -> tuple[CodeCorpus, CodeGold]:
    """The chunks of the tree and the gold queries."""
    from fastrecall.corpus.code import load_code
    from fastrecall.corpus.code_gold import load_code_gold

    gold = load_code_gold(queries)  # the quick part first: its mistakes are told at once
    return load_code(path, commit=commit), gold


def described(corpus: CodeCorpus, include: Include, *, cache: bool) -> list[str] | None:
    """A language model's line on each chunk, when ``[index] descriptions`` is on."""
    config = config_file().config
    if config.index.descriptions == "off":
        return None
    from fastrecall.search.describe import describe_candidates
    from fastrecall.search.reasoning import chat_client

    client = chat_client(config.reasoning)
    try:
        return describe_candidates(corpus, client, include=include, cache=cache)
    finally:
        client.close()
