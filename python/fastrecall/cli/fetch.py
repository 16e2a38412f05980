"""``fastrecall fetch``: bring a repository's issues and pull requests here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fastrecall.cli._kinds import Place
from fastrecall.cli._output import print_json

if TYPE_CHECKING:
    from fastrecall.corpus.fetch import Manifest, Store


@click.command("fetch")
@click.argument("repositories", nargs=-1, metavar="[OWNER/NAME]...")
@click.option("--org", metavar="NAME", help="All repositories of a user or an organisation.")
@click.option("--comments", is_flag=True, help="Bring the comments, too.")
@click.option("--commits", is_flag=True, help="Bring the messages of the PRs' commits, too.")
@click.option(
    "--api-url",
    envvar="GITHUB_API_URL",
    show_envvar=True,
    metavar="URL",
    help="Another server, such as https://HOST/api/v3.  [default: https://api.github.com]",
)
@click.option(
    "--from-gh",
    nargs=2,
    type=Place(),
    metavar="PRS ISSUES",
    help="Take two files that `gh pr list` and `gh issue list` wrote as JSON.",
)
@click.option(
    "--git",
    "git_path",
    type=Place(),
    metavar="PATH",
    help="Take the commits of a git repository on this machine.",
)
@click.option("--json", "as_json", is_flag=True, help="Print what is stored as JSON.")
def command(
    repositories: tuple[str, ...],
    org: str | None,
    comments: bool,
    commits: bool,
    api_url: str | None,
    from_gh: tuple[str, str] | None,
    git_path: str | None,
    as_json: bool,
) -> None:
    """Bring all issues and pull requests of repositories here, or what changed since.

    Needs a token: GITHUB_TOKEN, GH_TOKEN or `gh auth login`. A fetch that was stopped, however
    hard, goes on where it was. Afterwards OWNER/NAME is a corpus for every other command;
    'A/B+C/D' and 'OWNER/*' are several as one.
    """
    from fastrecall.errors import InputError
    from fastrecall.report.format import plural

    ways = [bool(from_gh), bool(git_path), bool(org)]
    if sum(ways) > 1 or (org and repositories) or (any(ways[:2]) and len(repositories) > 1):
        raise InputError("give repositories, --org, --from-gh or --git, one of them at a time")
    if any(ways[:2]) and (comments or commits):
        raise InputError("--comments and --commits are asked of a server; leave them out")
    if not any(ways) and not repositories:
        raise InputError(
            "nothing to fetch; give OWNER/NAME (such as ydb-platform/ydb), --org, --from-gh or "
            "--git"
        )
    name = repositories[0] if repositories else None
    done: list[tuple[Manifest, Store]]
    if from_gh:
        from fastrecall.corpus.fetch import import_gh

        done = [import_gh(*from_gh, name=name)]
    elif git_path:
        from fastrecall.corpus.fetch import import_git

        done = [import_git(git_path, name=name)]
    else:
        done = _from_github(repositories, org, api_url, comments=comments, commits=commits)
    rows = [_row(manifest, store) for manifest, store in done]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        click.echo(
            f"{row['repository']}: {plural(row['issues'], 'issue')}, {plural(row['prs'], 'PR')} "
            f"in {row['file']}"
        )


def _from_github(
    repositories: tuple[str, ...],
    org: str | None,
    api_url: str | None,
    *,
    comments: bool,
    commits: bool,
) -> list[tuple[Manifest, Store]]:
    from fastrecall._term import note
    from fastrecall.corpus import fetch

    server = fetch.Server.at(api_url or fetch.GITHUB_API)
    names = [fetch.check_repository(name, host=server.host) for name in repositories]
    done = []
    with fetch.GitHub(server, fetch.find_token(server.host)) as github:
        if org:
            owned = fetch.list_repositories(org, github=github)
            names = [one.name for one in owned if one.issues or one.prs]
            note(f"{org}: {len(names)} of {len(owned)} repositories have issues or PRs")
        wanted = fetch.Wanted(comments, commits)
        for name in names:
            fetched = fetch.fetch_repository(name, github=github, wanted=wanted)
            note(
                f"{fetched.manifest.repository}: {fetched.changed:,} new or changed, "
                f"{fetched.removed:,} removed, {fetched.requests:,} requests"
            )
            done.append((fetched.manifest, fetched.store))
    return done


def _row(manifest: Manifest, store: Store) -> dict[str, Any]:
    return {
        "repository": manifest.repository,
        "source": manifest.source,
        **manifest.counts,
        "file": str(store.folder / manifest.file),
        "sha256": manifest.sha256,
        "requests": manifest.requests,
        "notes": list(manifest.notes),
    }
