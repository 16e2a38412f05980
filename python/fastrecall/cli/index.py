"""``fastrecall index``: prepare a corpus for search and for assistants."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fastrecall.cli._executor import chosen_executor, executor_options, memory_option
from fastrecall.cli._kinds import Place
from fastrecall.cli._options import model_options, parse_links, window_options
from fastrecall.cli._output import print_json


@click.command("index")
@click.argument("corpus", type=Place(), default="demo")
@click.option("--out", type=Place(), help="The folder to write.  [default: one in the data folder]")
@click.option(
    "--links",
    default="published+github+linked+title",
    show_default=True,
    metavar="A+B",
    help="Sources of the closing links that answers follow.",
)
@window_options
@model_options
@memory_option
@executor_options
@click.option("--json", "as_json", is_flag=True, help="Print what was built as JSON.")
def command(
    corpus: str,
    out: str | None,
    links: str,
    author_filter: str | None,
    no_cache: bool,
    executor_name: str | None,
    address: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Write the index of CORPUS: what `search`, `serve` and `hook` open in milliseconds.

    CORPUS is a folder, a file, OWNER/NAME as `fastrecall fetch` brought it, what `fastrecall
    dataset` wrote, or demo. An index that is there stays in use until the new one is whole.
    """
    from fastrecall._visible import visible
    from fastrecall.corpus import AUTHOR_FILTER
    from fastrecall.report.format import plural
    from fastrecall.search.index.source import index_corpus

    with chosen_executor(
        executor_name, address=address, threads=options["threads"], memory=options["memory"]
    ) as executor:
        folder, manifest = index_corpus(
            corpus,
            None if out is None else Path(out),
            links=parse_links(links),
            author_filter=AUTHOR_FILTER if author_filter is None else author_filter or None,
            cache=not no_cache,
            executor=executor,
            **options,
        )
    size = sum(size for size, _ in manifest.files.values())
    built = {
        **manifest.corpus,
        "model": manifest.model["name"],
        "ranked_by": manifest.ranked_by,
        "bytes": size,
    }
    if as_json:
        print_json({**built, "folder": str(folder)})
        return
    click.echo(
        f"{visible(built['name'])}: {plural(built['issues'], 'issue')}, "
        f"{plural(built['prs'], 'PR')}, {plural(built['links'], 'closing link')}, "
        f"ranked by {built['ranked_by']}, {size / 1e6:.1f} MB in {folder}"
    )
