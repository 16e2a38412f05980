"""``fastrecall search``: the past tickets that answer a symptom."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fastrecall._visible import visible, visible_lines
from fastrecall.cli._config import config_file
from fastrecall.cli._hints import index_command
from fastrecall.cli._kinds import Place
from fastrecall.cli._output import print_json
from fastrecall.errors import InputError

if TYPE_CHECKING:
    from fastrecall.search.answer import Answer, Answers


@click.command("search")
@click.argument("symptom")
@click.argument("corpus", type=Place(), required=False)
@click.option(
    "-k",
    "--k",
    type=click.IntRange(1, 50),
    default=10,
    show_default=True,
    help="How many answers at most.",
)
@click.option("--kind", type=click.Choice(["issue", "pr"]), help="Only issues, or only PRs.")
@click.option("--since", metavar="DATE", help="Created on this day (month, year) or later.")
@click.option("--until", metavar="DATE", help="Created on this day (month, year) or earlier.")
@click.option("--repo", metavar="OWNER/NAME", help="Only of this repository.")
@click.option("--author", metavar="LOGIN", help="Only by this account.")
@click.option("--index", "index_path", type=Place(), help="The folder that `index --out` wrote.")
@click.option("--model", metavar="NAME", help="Refuse an index that another model made.")
@click.option("--code", "tree", type=Place(), help="Search this source tree, not tickets.")
@click.option("--explain", is_flag=True, help="Show scores, and how near an answer must be.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def command(
    symptom: str,
    corpus: str | None,
    k: int,
    kind: str | None,
    since: str | None,
    until: str | None,
    repo: str | None,
    author: str | None,
    index_path: str | None,
    model: str | None,
    tree: str | None,
    explain: bool,
    as_json: bool,
) -> None:
    """Find the tickets of CORPUS that answer SYMPTOM, and say where each came from.

    Ranked as `fastrecall eval` measures it, by the arm `best`: PRs by meaning, words and what the
    tickets they are linked with lend them, and the issues that lend. Nothing is printed when
    nothing is close. CORPUS is what `fastrecall index` was given (demo unless said); it is indexed
    now if it was not.

    With --code PATH, SYMPTOM is a question to a source tree: `fastrecall search --code src "where
    do we decide to retry"` lists the places that answer it, as `fastrecall code-eval` measures it.
    """
    if not symptom.strip():
        raise InputError("the question is empty; give a symptom, such as the title of an issue")
    if tree is not None:
        from fastrecall.cli._search_code import search_code

        _only_of_tickets(
            CORPUS=corpus,
            kind=kind,
            since=since,
            until=until,
            repo=repo,
            author=author,
            index=index_path,
            explain=explain or None,
        )
        model = model or config_file().config.eval.model
        search_code(symptom, tree, k=k, model=model, as_json=as_json)
        return
    from fastrecall._term import note
    from fastrecall.search.index.opening import open_index
    from fastrecall.search.when import first_second, past_end

    begin = None if since is None else first_second(since)
    end = None if until is None else past_end(until)
    if corpus is not None and index_path is not None:
        raise InputError("give either CORPUS or --index, not both")
    corpus = corpus or "demo"
    index = open_index(Path(index_path) if index_path else _index_of(corpus, model), model=model)
    # The model is loading; this import takes a while, too.
    from fastrecall.search.answer import Filters, ask

    filters = Filters(
        kind=None if kind is None else "pr" if kind == "pr" else "issue",
        since=begin,
        until=end,
        repo=repo,
        author=author,
    )
    if changed := index.changed_origin():
        again = index_command(index.manifest.source, index_path)
        note(f"{changed} has changed since it was indexed; run: {again}")
    answers = ask(index, symptom, k=k, filters=filters)
    if as_json:
        corpus_block = index.manifest.corpus
        print_json({"corpus": corpus_block, **answers.as_dict()})
        return
    if answers.nothing:
        note(answers.nothing)
    sys.stdout.writelines(map(visible_lines, _lines(answers, explain)))
    if explain:
        note(
            f"The nearest ticket has a cosine of {answers.cosine:.2f}; close is from "
            f"{answers.border:.2f} on, or a rare name of the question "
            f"({'found' if answers.named else 'none found'}). Ranked by the arm "
            f"{answers.ranked_by}."
        )


def _only_of_tickets(**given: object) -> None:
    """Refuse what means nothing to a source tree."""
    for name, value in given.items():
        if value is not None:
            what = name if name.isupper() else f"--{name}"
            raise InputError(f"{what} is of tickets, and --code searches a source tree; choose one")


def _index_of(corpus: str, model: str | None) -> Path:
    """Where the index of a corpus lies; it is built when there is none."""
    from fastrecall._term import note
    from fastrecall.search.index.place import index_folder, read_manifest

    folder = index_folder(corpus)
    if read_manifest(folder) is None:
        from fastrecall.search.index.source import index_corpus

        note(f"{corpus} has no index yet: building one (later: {index_command(corpus)})")
        settings = config_file().config.eval
        index_corpus(
            corpus,
            folder,
            model=model or settings.model,
            window_prs=settings.window_prs,
            window_issues=settings.window_issues,
            author_filter=settings.author_filter or None,
        )
    return folder


def _lines(answers: Answers, explain: bool) -> Iterator[str]:
    for rank, answer in enumerate(answers.answers, 1):
        yield from _told(rank, answer, explain)


def _told(rank: int, answer: Answer, explain: bool) -> Iterator[str]:
    from fastrecall.search.answer import state_of
    from fastrecall.search.when import day_of

    ticket = answer.ticket
    kind = "PR" if ticket.kind == "pr" else "issue"
    state = state_of(ticket)
    yield f"{rank:2} {kind} {ticket.ref}  {visible(ticket.title, 120)}\n"
    yield f"   {day_of(ticket.created_at)}{f', {state}' if state else ''}; {answer.origin}\n"
    if ticket.url:
        yield f"   {visible(ticket.url)}\n"
    if explain:
        for what, place in (("itself", answer.place), ("by way", answer.via_place)):
            if place is not None and str(place):
                scores = (
                    ("cosine", place.cosine, 3),
                    ("bm25", place.bm25_score, 2),
                    ("evidence", place.evidence, 2),
                )
                told = (f" {name} {of:.{places}f}" for name, of, places in scores if of is not None)
                yield f"   {what}:{''.join(told)}\n"
