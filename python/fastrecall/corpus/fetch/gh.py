"""Files that ``gh`` wrote, put where fetched tickets are."""

from __future__ import annotations

import os
from collections.abc import Callable

from fastrecall._term import note
from fastrecall.corpus.fetch.names import check_repository, is_repository
from fastrecall.corpus.fetch.store import Manifest, Store
from fastrecall.corpus.load import load_corpus
from fastrecall.errors import InputError


def import_gh(
    prs: str | os.PathLike[str],
    issues: str | os.PathLike[str],
    *,
    name: str | None = None,
    say: Callable[[str], None] = note,
) -> tuple[Manifest, Store]:
    """Store what ``gh pr list`` and ``gh issue list`` printed as JSON.

    Nothing is cut and nobody is filtered out; a file whose length looks like a ``--limit`` is
    pointed out. The next fetch of the repository brings everything anew.

    Args:
        prs: the file of PRs.
        issues: the file of issues.
        name: ``owner/name``; not needed where the records have addresses.
        say: tells the user what to know.

    Raises:
        CorpusError: a file that cannot be read.
        InputError: the repository is not known, or is another than *name*.
        CacheError: the data folder cannot be written.
    """
    if name is not None:
        name = check_repository(name)
    corpus = load_corpus(
        prs=prs, issues=issues, window_prs=None, window_issues=None, author_filter=None, name=name
    )
    for text in corpus.notes:
        say(text)
    if len(corpus.repos) != 1 or not is_repository(corpus.repos[0]):
        found = ", ".join(filter(None, corpus.repos))
        raise InputError(
            f"the files name {found or 'no repository'}; give the one they are of: "
            "fastrecall fetch OWNER/NAME --from-gh PRS ISSUES"
        )
    repository = corpus.repos[0]
    if name is not None and name.lower() != repository.lower():
        raise InputError(f"the files are of {repository}, not of {name}; leave the name out")
    store = Store.of("github.com", repository)
    with store.lock():
        manifest = store.replace(
            corpus.tickets, Manifest(repository=repository, source="gh", notes=corpus.notes)
        )
    return manifest, store
