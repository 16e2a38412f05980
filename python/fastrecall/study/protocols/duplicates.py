"""A duplicate asks for the fix of its original: the nearest thing to a truly new symptom."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from fastrecall.corpus import query_text
from fastrecall.search.tokens import mask_references
from fastrecall.study.protocols.base import Asked, Case, Protocol, ask_pairs
from fastrecall.types import GoldPair


def ask(case: Case) -> Asked:
    """Issue B is a duplicate of A: B asks, and the PR that closed A answers.

    B itself does not exist for its own question, for a new report is not stored yet. Nor has it a
    reference: "Duplicate of #5" was written by somebody who had found #5.
    """
    fixes: dict[int, list[GoldPair]] = defaultdict(list)
    for pair in case.gold.pairs:
        fixes[pair.issue_node].append(pair)
    fixed = [duplicate for duplicate in case.duplicates if duplicate.original in fixes]
    asking = dict(case.corpus.read(duplicate.issue for duplicate in fixed))
    pairs = [
        replace(
            fix,
            issue=asking[duplicate.issue].number,
            issue_node=duplicate.issue,
            query=query_text(asking[duplicate.issue], "title"),
        )
        for duplicate in fixed
        for fix in fixes[duplicate.original]
    ]
    asked = ask_pairs(case, sorted(pairs, key=lambda pair: (pair.issue_node, pair.pr_node)))
    return replace(asked, texts=tuple(map(mask_references, asked.texts)), exclude=asked.nodes)


PROTOCOL = Protocol(
    "duplicates",
    "duplicates",
    "an issue that repeats another asks for the fix of the first",
    ask,
)
