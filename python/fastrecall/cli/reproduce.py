"""``fastrecall reproduce``: a published run again, as one command."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fastrecall.cli._kinds import COUNT, Place
from fastrecall.cli._output import print_json

if TYPE_CHECKING:
    from fastrecall.study.reproduce import Published
    from fastrecall.types import Corpus

_LARGEST_GOLD = 10_000_000  # bytes


@click.command("reproduce")
@click.argument("run", metavar="[RUN]", default="ydb")
@click.option("--prs", type=Place(), help="PRs as `gh pr list --json` writes them.")
@click.option("--issues", type=Place(), help="Issues as `gh issue list --json` writes them.")
@click.option(
    "--gold",
    type=Place(),
    metavar="FILE|URL",
    help="The published pairs.  [default: their address]",
)
@click.option("--model", help="Another embedding model.  [default: the published one]")
@click.option("--threads", type=COUNT, help="Threads to use.")
@click.option("--no-cache", is_flag=True, help="Neither read nor keep vectors on disk.")
@click.option(
    "--api-url", envvar="GITHUB_API_URL", show_envvar=True, metavar="URL", help="Where GitHub is."
)
@click.option("--out", type=Place(), help="Write the record to this file.")
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
def command(
    run: str,
    prs: str | None,
    issues: str | None,
    gold: str | None,
    model: str | None,
    threads: int | None,
    no_cache: bool,
    api_url: str | None,
    out: str | None,
    as_json: bool,
) -> None:
    """Repeat the published RUN (ydb) and show its figures beside those measured here.

    Fetches the repository (or takes two dumps of gh), cuts it to the window that the run can have
    seen, asks the published pairs, and says what explains each difference. Without a network give
    --prs, --issues and --gold, and have the model ready: fastrecall models.
    """
    from fastrecall._term import note, output_width
    from fastrecall.corpus import read_gold
    from fastrecall.embedding import resolve_model
    from fastrecall.errors import InputError
    from fastrecall.report.reproduce_table import render_reproduction
    from fastrecall.study.reproduce import published_runs, reproduce
    from fastrecall.study.settings import one_of

    runs = published_runs()
    published = runs[one_of("run", run, tuple(runs))]
    if bool(prs) != bool(issues):
        raise InputError("--prs and --issues go together: give both files")
    # What can fail at once should fail before an hour of fetching.
    resolve_model(model or published.model, cache=not no_cache)
    rows = read_gold(_gold_file(published.gold if gold is None else gold))
    corpus = _corpus(published, prs, issues, api_url)
    document, record = reproduce(
        corpus, rows, published, model=model, threads=threads, cache=not no_cache
    )
    if out:
        record.save(out)
        note(f"record written to {out}")
    if as_json:
        print_json(document)
    else:
        width, color = output_width()
        sys.stdout.write(render_reproduction(document, width=width, color=color))


def _corpus(
    published: Published, prs: str | None, issues: str | None, api_url: str | None
) -> Corpus:
    """Everything that there is of the repository: nothing cut, nobody filtered out."""
    from fastrecall.corpus import load_corpus

    if prs is None:
        from fastrecall.corpus import fetch

        server = fetch.Server.at(api_url or fetch.GITHUB_API)
        with fetch.GitHub(server, fetch.find_token(server.host)) as github:
            fetch.fetch_repository(published.repository, github=github)
    return load_corpus(
        published.repository if prs is None else None,
        prs=prs,
        issues=issues,
        window_prs=None,
        window_issues=None,
        author_filter=None,
        name=published.repository,
    )


def _gold_file(place: str) -> Path:
    """The pairs as a file; from an address they go into the data folder, and are kept there."""
    if not place.startswith(("http://", "https://")):
        return Path(place)
    import hashlib

    import httpx

    from fastrecall._data import data_folder
    from fastrecall._files import atomic_write
    from fastrecall.corpus import read_gold
    from fastrecall.errors import CorpusError, RemoteError

    kept = data_folder() / "gold" / f"{hashlib.sha256(os.fsencode(place)).hexdigest()[:16]}.csv"
    if kept.exists():
        return kept
    try:
        with httpx.stream("GET", place, follow_redirects=True, timeout=30) as response:
            response.raise_for_status()
            data = b""
            for part in response.iter_bytes():
                data += part
                if len(data) > _LARGEST_GOLD:
                    raise RemoteError(f"{place} is no list of pairs: more than 10 MB")
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
        raise RemoteError(
            f"cannot get the published pairs from {place} ({error or type(error).__name__}); "
            "give a copy with --gold FILE"
        ) from error
    with atomic_write(kept, binary=True) as file:
        file.write(data)
    try:
        read_gold(kept)
    except CorpusError as error:  # such as the page on which a network asks for a password
        kept.unlink()
        raise RemoteError(f"what {place} answered is no list of pairs: {error}") from error
    return kept
