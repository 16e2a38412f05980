"""Branches and commits of PRs: read in every spelling, kept in tables, part of the fingerprint."""

from __future__ import annotations

from typing import Any

import pytest

from fastrecall.corpus._records import RecordReader
from fastrecall.corpus.build import corpus_fingerprint
from fastrecall.corpus.table import from_table, to_table
from fastrecall.types import Ticket

BASE = {"number": 1, "createdAt": "2024-05-31T12:00:00Z", "title": "Fix", "body": ""}
TEXT = "Author: Ann <ann@example.org>\n\nFix it\n\nCloses #5"


def read(**fields: Any) -> Ticket:
    return RecordReader().ticket({**BASE, **fields}, "pr")[0]


@pytest.mark.parametrize(
    "commits",
    [
        [
            {
                "messageHeadline": "Fix it",
                "messageBody": "Closes #5",
                "authors": [{"name": "Ann", "email": "ann@example.org", "login": "ann"}],
            }
        ],
        {
            "nodes": [
                {
                    "commit": {
                        "message": "Fix it\n\nCloses #5",
                        "author": {"name": "Ann", "email": "ann@example.org"},
                    }
                }
            ]
        },
        [TEXT],
    ],
    ids=["gh", "GraphQL", "our own"],
)
def test_commits_come_out_alike_from_every_spelling(commits: object) -> None:
    assert read(commits=commits).commits == (TEXT,)


@pytest.mark.parametrize("commits", [None, 3, []], ids=["null", "REST's number", "empty"])
def test_a_pr_may_have_no_commits(commits: object) -> None:
    assert read(commits=commits).commits == ()


def test_the_branch_is_read_from_a_name_and_from_an_object() -> None:
    assert read(headRefName="copilot/fix-1").head == "copilot/fix-1"
    assert read(head={"ref": "copilot/fix-1", "sha": "0"}).head == "copilot/fix-1"


def test_a_table_keeps_them() -> None:
    ticket = read(headRefName="devin/1", commits=[TEXT])
    assert from_table(to_table([ticket])) == [ticket]


def test_the_fingerprint_tells_them_apart() -> None:
    variants = [
        read(),
        read(headRefName="a"),
        read(headRefName="b"),
        read(commits=["a"]),
        read(headRefName="a", commits=["a"]),
        read(commits=["a", "a"]),
    ]
    assert len({corpus_fingerprint([ticket]) for ticket in variants}) == len(variants)
