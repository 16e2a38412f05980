"""Options that several commands share, and what they mean together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from fastrecall.cli._kinds import COUNT, Place
from fastrecall.errors import InputError
from fastrecall.types import LINK_SOURCES, Corpus, Gold, LinkSource

Command = TypeVar("Command", bound=Callable[..., Any])


def stack(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """One decorator for several options, shown in the order given."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


window_options = stack(
    click.option(
        "--window-prs",
        type=click.IntRange(min=0),
        default=11_000,
        show_default=True,
        help="Keep the newest PRs, up to this many.",
    ),
    click.option(
        "--window-issues",
        type=click.IntRange(min=0),
        default=8_000,
        show_default=True,
        help="Keep the newest issues, up to this many.",
    ),
    click.option(
        "--author-filter",
        metavar="REGEX",
        show_default=True,
        help="Drop PRs by these authors; '' keeps all.",
    ),
)

corpus_options = stack(
    click.argument("corpus", type=Place(), required=False),
    click.option("--prs", type=Place(), help="PRs as `gh pr list --json` writes them."),
    click.option("--issues", type=Place(), help="Issues as `gh issue list --json` writes them."),
    click.option(
        "--gold",
        "gold_file",
        type=Place(),
        help="CSV issue,pr,query,pr_title; alone, the nodes are made from its titles.",
    ),
    click.option(
        "--links",
        default="published",
        show_default=True,
        metavar="A+B",
        help=f"Sources of closing links: {', '.join(LINK_SOURCES)}.",
    ),
    window_options,
)

CORPUS_NAMES = (
    "corpus",
    "prs",
    "issues",
    "gold_file",
    "window_prs",
    "window_issues",
    "author_filter",
)
"""What `read_corpus` takes of `corpus_options`."""

UNCUT: dict[str, Any] = {
    "gold_file": None,
    "window_prs": None,
    "window_issues": None,
    "author_filter": "",
}
"""For `read_corpus`: every ticket, of whatever age and author."""

asking_options = stack(
    click.option(
        "--protocol",
        "protocols",
        multiple=True,
        metavar="NAME",
        show_default=True,
        help="What is indexed and asked: published, leave-one-out, duplicates, past-only, shuffled "
        "or all; repeatable.",
    ),
    click.option(
        "--query",
        default="title",
        show_default=True,
        metavar="title|body|title+body",
        help="What of the issue is asked; for body, titles of asked issues are masked.",
    ),
    click.option(
        "--budget",
        type=COUNT,
        default=32,
        show_default=True,
        help="How many nodes an arm may return.",
    ),
    click.option(
        "--seeds",
        type=COUNT,
        help="How many nodes a causal walk starts from.  [default: the budget]",
    ),
    click.option(
        "--depth",
        type=COUNT,
        default=3,
        show_default=True,
        help="How many closing links a walk follows.",
    ),
    click.option(
        "--undirected/--directed", help="Walk closing links back, too.  [default: directed]"
    ),
)

model_options = stack(
    click.option(
        "--model",
        default="minilm",
        show_default=True,
        help="A name from `fastrecall models`, a folder, or a hub id.",
    ),
    click.option(
        "--no-cache", is_flag=True, help="Neither read nor keep vectors or answers on disk."
    ),
    click.option(
        "--threads",
        type=COUNT,
        help="Threads to use; never changes a result.  [default: all usable cores]",
    ),
)


def parse_links(text: str) -> tuple[LinkSource, ...]:
    """The link sources of ``a+b``.

    >>> parse_links("github+title")
    ('github', 'title')
    """
    from fastrecall.study.settings import one_of

    names = [one_of("link source", name.strip(), LINK_SOURCES) for name in text.split("+")]
    return tuple(source for source in LINK_SOURCES if source in names)


def chosen_protocols(names: tuple[str, ...]) -> tuple[str, ...] | None:
    """The protocols to ask; None for all that a corpus has questions for.

    >>> chosen_protocols(("all",)), chosen_protocols(("published",))
    (None, ('published',))
    """
    return None if not names or "all" in names else names


def read_corpus(
    corpus: str | None,
    *,
    prs: str | None,
    issues: str | None,
    gold_file: str | None,
    window_prs: int | None,
    window_issues: int | None,
    author_filter: str | None,
) -> tuple[Corpus, Gold | None]:
    """The corpus and the gold pairs that a command line names; the demo when it names nothing."""
    from fastrecall import corpus as room

    if corpus is not None and (prs or issues):
        raise InputError("give either a corpus or --prs and --issues, not both")
    if bool(prs) != bool(issues):
        raise InputError("--prs and --issues go together: give both files")
    rows = None if gold_file is None else room.read_gold(gold_file)
    if rows is not None and corpus is None and prs is None:
        made = room.corpus_from_gold(rows, name=Path(str(gold_file)).name)
        return made, room.gold_from_rows(made, rows)
    loaded = room.load_corpus(
        corpus or (None if prs else "demo"),
        prs=prs,
        issues=issues,
        window_prs=window_prs,
        window_issues=window_issues,
        # None: the usual filter; an empty pattern: no filter.
        author_filter=room.AUTHOR_FILTER if author_filter is None else author_filter or None,
    )
    return loaded, None if rows is None else room.gold_from_rows(loaded, rows)


def refuse_titles_only(corpus: Corpus) -> None:
    """Tell that links are looked for where no texts are."""
    if corpus.titles_only:
        raise InputError(
            f"{corpus.name}: a gold file alone has no texts to find links in; give a corpus, too"
        )


def gold_differences(corpus: Corpus, given: Gold, links: tuple[LinkSource, ...]) -> list[str]:
    """What the pairs found by rule and the pairs given do not share, as lines of text."""
    from fastrecall import corpus as room

    found = room.gold_from_links(corpus, room.find_links(corpus), links)
    return room.compare_gold(found, given).lines()
