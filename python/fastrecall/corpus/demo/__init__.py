"""The demo corpus: the history of a project that does not exist, made by chance from a seed.

A distributed storage and queue service called Lattice has a few years of issues and pull requests
behind it. Users report symptoms, engineers name changes, and the two hardly share a word; what
joins them is the closing link. Everything that real histories throw at a reader is planted on
purpose and counted in `DemoTruth`.

The way through the modules: `words` (what people say) → `plan` (which tickets there are) → `issues`
and `prs` (their texts, with a `pen`) → `records` (the shape that ``gh`` prints) and `truth`.
"""

from __future__ import annotations

from fastrecall.corpus._sources import Source
from fastrecall.corpus.demo.dice import Dice
from fastrecall.corpus.demo.draft import Draft
from fastrecall.corpus.demo.issues import write_issue
from fastrecall.corpus.demo.pen import Pen
from fastrecall.corpus.demo.plan import Plan
from fastrecall.corpus.demo.prs import write_pr
from fastrecall.corpus.demo.records import Record, to_record
from fastrecall.corpus.demo.truth import DemoTruth, PlantedDuplicate, truth_of
from fastrecall.corpus.load import Material, assemble
from fastrecall.corpus.window import AUTHOR_FILTER, WINDOW_ISSUES, WINDOW_PRS, Window
from fastrecall.errors import InputError
from fastrecall.types import Corpus

__all__ = [
    "DEFAULT_NODES",
    "DEFAULT_SEED",
    "DemoTruth",
    "PlantedDuplicate",
    "demo_corpus",
    "demo_material",
    "demo_records",
    "nodes_named",
    "planted",
]

DEFAULT_NODES = 1200
DEFAULT_SEED = 1065
FEWEST_NODES = 120

NOTES = (
    "this corpus is generated: no such project exists, and its numbers say nothing about yours",
    "for a real repository: fastrecall fetch OWNER/NAME, then fastrecall eval OWNER/NAME",
)


def demo_corpus(
    *,
    nodes: int = DEFAULT_NODES,
    seed: int = DEFAULT_SEED,
    window_prs: int | None = WINDOW_PRS,
    window_issues: int | None = WINDOW_ISSUES,
    author_filter: str | None = AUTHOR_FILTER,
) -> Corpus:
    """The demo as a corpus, read and cut to the window as a real one is.

    Args:
        nodes: issues and pull requests together before the cut (`demo_records`).
        seed: another seed is another history of the same project.
        window_prs: how many PRs to keep, the newest first; None: all.
        window_issues: how many issues to keep, the newest first; None: all.
        author_filter: regular expression of PR authors to drop first.

    Raises:
        InputError: fewer than 120 nodes, or an option that makes no sense.

    >>> corpus = demo_corpus()
    >>> corpus.generated, corpus.cut.dropped_authors, len(corpus)
    (True, 110, 1090)
    """
    window = Window(prs=window_prs, issues=window_issues, author_filter=author_filter)
    return assemble(demo_material(nodes=nodes, seed=seed), window)


def demo_material(*, nodes: int = DEFAULT_NODES, seed: int = DEFAULT_SEED) -> Material:
    """Where the demo's tickets come from: made once, read as often as wanted.

    Raises:
        InputError: fewer than 120 nodes.
    """
    drafts = _drafts(nodes, seed)
    return Material(
        [
            Source("prs", "pr", lambda: (to_record(d) for d in drafts if d.is_pr)),
            Source("issues", "issue", lambda: (to_record(d) for d in drafts if not d.is_pr)),
        ],
        name="demo" if nodes == DEFAULT_NODES else f"demo:{nodes}",
        generated=True,
        notes=NOTES,
    )


def demo_records(
    *, nodes: int = DEFAULT_NODES, seed: int = DEFAULT_SEED
) -> tuple[list[Record], list[Record]]:
    """The demo's issues and pull requests as ``gh`` would print them, in order of creation.

    Args:
        nodes: issues and pull requests together, bots included; at least 120. 1,200 nodes hold 293
            gold pairs, other sizes hold them in proportion.
        seed: another seed is another history of the same project.

    Raises:
        InputError: fewer than 120 nodes.

    >>> issues, prs = demo_records()
    >>> len(issues), len(prs)
    (460, 740)
    >>> issues[0]["number"], issues[0]["state"]
    (1, 'OPEN')
    """
    drafts = _drafts(nodes, seed)
    return (
        [to_record(draft) for draft in drafts if not draft.is_pr],
        [to_record(draft) for draft in drafts if draft.is_pr],
    )


def planted(*, nodes: int = DEFAULT_NODES, seed: int = DEFAULT_SEED) -> DemoTruth:
    """What `demo_records` with the same arguments planted.

    >>> len(planted().published_pairs)
    293
    """
    return truth_of(_drafts(nodes, seed))


def nodes_named(source: str) -> int:
    """How many tickets ``demo`` or ``demo:20000`` asks for.

    Raises:
        InputError: what follows the colon is not a number of tickets.

    >>> nodes_named("demo"), nodes_named("demo:20000")
    (1200, 20000)
    """
    _, colon, number = source.partition(":")
    if not colon:
        return DEFAULT_NODES
    whole = number.isascii() and number.isdigit() and len(number) < 10
    if not whole or int(number) < FEWEST_NODES:
        raise InputError(
            f"{source[:40]!r} names no demo corpus; expected a number of tickets after the colon, "
            f"{FEWEST_NODES} or more, as in demo:20000"
        )
    return int(number)


def _drafts(nodes: int, seed: int) -> list[Draft]:
    if nodes < FEWEST_NODES:
        raise InputError(
            f"the demo corpus cannot have {nodes} nodes; ask for at least {FEWEST_NODES}"
        )
    drafts = Plan(nodes, seed).drafts
    pen = Pen(Dice(seed + 1), nodes)
    for draft in drafts:
        (write_pr if draft.is_pr else write_issue)(draft, pen)
    return drafts
