"""The demo corpus: the history of a project that does not exist, made by chance from a seed.

A distributed storage and queue service called Lattice has a few years of issues and pull requests
behind it. Users report symptoms, engineers name changes, and the two hardly share a word; what
joins them is the closing link. Everything that real histories throw at a reader is planted on
purpose and counted in `DemoTruth`.

The way through the modules: `words` (what people say) → `plan` (which tickets there are) → `issues`
and `prs` (their texts, with a `pen`) → `records` (the shape that ``gh`` prints) and `truth`.
"""

from __future__ import annotations

from fastrecall.corpus.demo.dice import Dice
from fastrecall.corpus.demo.draft import Draft
from fastrecall.corpus.demo.issues import write_issue
from fastrecall.corpus.demo.pen import Pen
from fastrecall.corpus.demo.plan import Plan
from fastrecall.corpus.demo.prs import write_pr
from fastrecall.corpus.demo.records import Record, to_record
from fastrecall.corpus.demo.truth import DemoTruth, Duplicate, truth_of
from fastrecall.errors import InputError

__all__ = ["DEFAULT_NODES", "DEFAULT_SEED", "DemoTruth", "Duplicate", "demo_records", "planted"]

DEFAULT_NODES = 1200
DEFAULT_SEED = 1065
FEWEST_NODES = 120


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
    (1, 'CLOSED')
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


def _drafts(nodes: int, seed: int) -> list[Draft]:
    if nodes < FEWEST_NODES:
        raise InputError(
            f"the demo corpus cannot have {nodes} nodes; ask for at least {FEWEST_NODES}"
        )
    drafts = Plan(nodes, seed).drafts
    pen = Pen(Dice(seed + 1), nodes)
    issue = pr = None
    for draft in drafts:
        if draft.is_pr:
            write_pr(draft, pen, issue, pr)
            pr = draft
        else:
            write_issue(draft, pen)
            issue = draft
    return drafts
