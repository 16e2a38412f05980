"""``fastrecall dataset``: tickets in many files, for corpora that do not fit in memory."""

from __future__ import annotations

from pathlib import Path

import click

from fastrecall.cli._kinds import Place
from fastrecall.cli._output import print_json


@click.command("dataset")
@click.argument("corpus", type=Place())
@click.argument("folder", type=Place())
@click.option(
    "--window-prs",
    type=click.IntRange(min=0),
    help="Keep the newest PRs, up to this many.  [default: all]",
)
@click.option(
    "--window-issues",
    type=click.IntRange(min=0),
    help="Keep the newest issues, up to this many.  [default: all]",
)
@click.option(
    "--author-filter",
    metavar="REGEX",
    help="Drop PRs by these authors; '' keeps all.  [default: ydbot and common automation]",
)
@click.option("--name", help="What to call the corpus.  [default: what it is called already]")
@click.option(
    "--memory",
    default="1GB",
    show_default=True,
    metavar="AMOUNT",
    help="For the tickets that are held at a time.",
)
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
def command(
    corpus: str,
    folder: str,
    window_prs: int | None,
    window_issues: int | None,
    author_filter: str | None,
    name: str | None,
    memory: str,
    as_json: bool,
) -> None:
    """Write CORPUS into FOLDER as a dataset, which is read as it is needed.

    CORPUS is whatever `eval` takes. Every command that takes a corpus takes FOLDER, and finds the
    same tickets in it, cut and filtered as here. What takes more memory than there is then goes
    with: fastrecall eval FOLDER --memory 4GB
    """
    from fastrecall._visible import visible
    from fastrecall.corpus import AUTHOR_FILTER, write_dataset
    from fastrecall.report.format import plural

    written = write_dataset(
        corpus,
        folder,
        window_prs=window_prs,
        window_issues=window_issues,
        author_filter=AUTHOR_FILTER if author_filter is None else author_filter or None,
        name=name,
        memory=memory,
    )
    size = sum(path.stat().st_size for path in Path(folder).iterdir())
    cut = written.cut
    if as_json:
        about = {
            "name": written.name,
            "issues": cut.kept_issues,
            "prs": cut.kept_prs,
            "fingerprint": written.fingerprint,
            "bytes": size,
            "notes": written.notes,
            "folder": str(folder),
        }
        print_json(about)
        return
    click.echo(
        f"{visible(written.name)}: {plural(cut.kept_issues, 'issue')}, "
        f"{plural(cut.kept_prs, 'PR')}, {size / 1e6:.1f} MB in {folder}"
    )
