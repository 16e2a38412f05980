"""Tickets → `Corpus`: node order and fingerprint."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

from fastrecall.types import Corpus, GoldPair, Ticket, WindowCut


def make_corpus(
    tickets: Iterable[Ticket],
    *,
    name: str,
    cut: WindowCut | None = None,
    titles_only: bool = False,
    generated: bool = False,
    notes: tuple[str, ...] = (),
) -> Corpus:
    """A corpus of these tickets, in node order (repository, issue before PR, number).

    Nothing is dropped here; *cut* tells what a window dropped before (None: nothing).

    >>> pr, issue = Ticket("", "pr", 1, "Fix", "", 0), Ticket("", "issue", 2, "Crash", "", 0)
    >>> [ticket.number for ticket in make_corpus([pr, issue], name="tiny").tickets]
    [2, 1]
    """
    ordered = tuple(sorted(tickets, key=node_order))
    if cut is None:
        prs = sum(ticket.kind == "pr" for ticket in ordered)
        issues = len(ordered) - prs
        cut = WindowCut(read_issues=issues, read_prs=prs, kept_issues=issues, kept_prs=prs)
    return Corpus(
        name=name,
        tickets=ordered,
        cut=cut,
        fingerprint=corpus_fingerprint(ordered),
        titles_only=titles_only,
        generated=generated,
        notes=notes,
    )


def node_order(ticket: Ticket) -> tuple[str, bool, int]:
    """The sort key of tickets in node order."""
    return ticket.repo, ticket.kind == "pr", ticket.number


def corpus_fingerprint(tickets: Iterable[Ticket]) -> str:
    """sha256, in hexadecimal, of what the tickets say, in the order given.

    Each ticket is a header of numbers and lengths followed by its texts in UTF-8, so that no two
    different tickets are written alike, on any platform.
    """
    return _sha256(map(canonical_ticket, tickets))


def gold_fingerprint(pairs: Iterable[GoldPair]) -> str:
    """sha256, in hexadecimal, of what the gold pairs say, in the order given.

    Nodes are left out: the same pairs have the same fingerprint with any corpus.
    """
    return _sha256(
        _canonical(
            f"{pair.issue},{pair.pr},{pair.grade}",
            (pair.repo, pair.pr_repo, pair.query, pair.pr_title),
        )
        for pair in pairs
    )


def canonical_ticket(t: Ticket) -> str:
    """All that a ticket says, as one text; different tickets have different ones."""
    closes = "-" if t.closes is None else " ".join(f"{number}" for _, number in t.closes)
    # What few corpora have is written only where it is there.
    rare = (t.head, *t.commits) if t.head or t.commits else ()
    return _canonical(
        f"{t.number},{t.created_at},{t.is_bot:d},{t.closed_at},{t.merged_at},"
        f"{len(t.labels)},{len(t.comments)},{closes}" + (f",{len(rare)}" if rare else ""),
        (
            t.repo,
            t.kind,
            t.title,
            t.body,
            t.author,
            t.state,
            t.state_reason,
            t.base,
            t.url,
            *t.labels,
            *t.comments,
            *(repo for repo, _ in t.closes or ()),
            *rare,
        ),
    )


def _canonical(head: str, texts: tuple[str, ...]) -> str:
    return f"{head};{','.join([str(len(text)) for text in texts])};{''.join(texts)}"


def _sha256(parts: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for block in _blocks(parts, 100):
        digest.update("".join(block).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _blocks(parts: Iterable[str], size: int) -> Iterator[list[str]]:
    block: list[str] = []
    for part in parts:
        block.append(part)
        if len(block) == size:
            yield block
            block = []
    yield block
