"""The reading aid: what each number means, in one sentence, for any kind of page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastrecall.report.format import count, plural
from fastrecall.report.gains import how_tested

MISS_REASONS = {
    "past_budget": "it came, but behind the budget",
    "not_yet": "it was created only after the question",
    "not_near": "it is not among the nearest",
    "own_issue_removed": "the asked issue, which carries the link, does not exist here",
    "own_issue_not_a_seed": "the asked issue, which carries the link, is not among the seeds",
    "no_link": "no link leads from the asked issue to it",
}
"""Every reason of a miss that a record gives, with its meaning."""


def not_yet(block: Mapping[str, Any]) -> str:
    """What limits every arm of a protocol that ends the memory where a question was written.

    >>> not_yet({"pairs": 24, "not_yet": 8})
    'for 8 of 24 pairs the PR was created only after the question'
    """
    pairs = plural(block["pairs"], "pair")
    return f"for {count(block['not_yet'])} of {pairs} the PR was created only after the question"


def reading_aid(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(word, sentence) of everything that a report of *record* prints.

    >>> aid = dict(reading_aid({"settings": {"budget": 32}, "protocols": {}, "gain": {}}))
    >>> aid["median rank"]
    'Half of the pairs have their PR at this rank or above; – if most miss.'
    """
    budget = record["settings"]["budget"]
    aid = [
        (
            "gold pair",
            "An issue, and a pull request that says it closes it: the question is the issue's "
            "wording, the right answer is the PR.",
        ),
        (
            "hits",
            f"Pairs whose PR is among the first {budget} returned nodes, of all pairs asked "
            f"(chain-hit@{budget}). An uncut walk has no budget: all that it returned counts.",
        ),
        (
            "Wilson 95 %",
            "Where the true share plausibly lies, if these pairs are independent samples of what "
            "people ask; one such interval in twenty misses it.",
        ),
        (
            "MRR",
            "The mean over the questions of 1/rank of the first PR that answers: 1 means always on "
            "top, 0.5 as good as always second; a miss counts 0. In brackets where the true one "
            "plausibly lies (bootstrap over issues).",
        ),
        ("median rank", "Half of the pairs have their PR at this rank or above; – if most miss."),
        (
            "nodes",
            "How many issues and PRs came back on average: a share means little without what was "
            "paid for it.",
        ),
        (
            "difference",
            "Two arms answer the same pairs, so they are compared pair by pair; if the interval "
            "holds 0, the data do not tell them apart.",
        ),
    ]
    tested = how_tested(record)
    if tested:
        aid.append(
            (
                "p",
                "How often chance alone would make two equally good arms differ at least this "
                f"much: {tested}.",
            )
        )
    protocols = record["protocols"]
    if any(block["own_issue_first"] is not None for block in protocols.values()):
        aid.append(
            (
                "own issue first",
                "Questions whose best match is the very issue that they were taken from: for "
                "those, nothing had to be recalled.",
            )
        )
    if "shuffled" in protocols:
        aid.append(
            (
                "shuffled links",
                "A control: links lead to wrong PRs, so an arm that lives by links must fall to "
                "the level of semantic; if it does not, something leaks.",
            )
        )
    return aid
