"""The finished tickets as ``gh … --json`` would print them."""

from __future__ import annotations

from typing import Any, TypeAlias

from fastrecall.corpus.demo.draft import Draft
from fastrecall.corpus.demo.links import REPO
from fastrecall.corpus.demo.pen import gh_time
from fastrecall.corpus.demo.truth import linked_issues

Record: TypeAlias = dict[str, Any]

TRIAGER = "nadia-h"
"""Who points duplicates at their originals."""

_ROLE_LABELS = {
    "wish": "enhancement",
    "flaky report": "tests",
    "series": "tests",
    "chore": "dependencies",
    "work": "internal",
}


def to_record(draft: Draft) -> Record:
    """One issue or pull request with the fields that ``gh issue list`` and ``gh pr list`` share."""
    record: Record = {
        "number": draft.number,
        "createdAt": gh_time(draft.time),
        "author": draft.account.to_gh(),
        "title": draft.title,
        "body": draft.body,
        "state": draft.state,
        "closedAt": None if draft.ended is None else gh_time(draft.ended),
        "labels": [_label(name) for name in _labels(draft)],
        "url": f"https://github.com/{REPO}/{'pull' if draft.is_pr else 'issues'}/{draft.number}",
    }
    record.update(_only_pr(draft, record) if draft.is_pr else _only_issue(draft))
    return record


def _only_issue(draft: Draft) -> Record:
    comments = []
    if draft.comment and draft.ended is not None:
        comments.append(
            {
                "author": {"login": TRIAGER},
                "authorAssociation": "MEMBER",
                "body": draft.comment,
                "createdAt": gh_time(draft.ended),
            }
        )
    return {"stateReason": draft.state_reason, "comments": comments}


def _only_pr(draft: Draft, record: Record) -> Record:
    return {
        "mergedAt": record["closedAt"] if draft.state == "MERGED" else None,
        "baseRefName": draft.base,
        "closingIssuesReferences": [_reference(issue) for issue in linked_issues(draft)],
    }


def _reference(issue: Draft) -> Record:
    owner, name = REPO.split("/")
    return {
        "id": f"I_{issue.number}",
        "number": issue.number,
        "repository": {"id": "R_1", "name": name, "owner": {"id": "O_1", "login": owner}},
        "url": f"https://github.com/{REPO}/issues/{issue.number}",
    }


def _labels(draft: Draft) -> list[str]:
    labels = [f"area/{draft.component.name}", _ROLE_LABELS.get(draft.role, "bug")]
    return [*labels, "duplicate"] if draft.evidence == "label" else labels


def _label(name: str) -> Record:
    return {"id": f"L_{name}", "name": name, "description": "", "color": "c5def5"}
