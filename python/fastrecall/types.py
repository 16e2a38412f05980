"""The words that the rooms share: tickets, corpora, links, gold pairs, rankings."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from fastrecall._on_demand import OnDemand

Ids: TypeAlias = npt.NDArray[np.int32]
"""Node ids; -1 fills the places past the end of a ranking."""

Scores: TypeAlias = npt.NDArray[np.float32]
"""Scores that go with `Ids`; nan past the end."""

Vectors: TypeAlias = npt.NDArray[np.float32]
"""Embeddings, one row a text, C-contiguous."""


class VectorSource(Protocol):
    """Vectors that need not fit in memory; row ``i`` is node ``i``.

    One that lives in files is cheap to pickle: another process opens the files itself.
    """

    @property
    def dim(self) -> int:
        """Dimensions of a vector."""

    def __len__(self) -> int: ...

    def read(self, start: int, stop: int) -> Vectors:
        """The rows from *start* to before *stop*, float32; perhaps read-only, a mapped file."""


Kind: TypeAlias = Literal["issue", "pr"]

LinkSource: TypeAlias = Literal["published", "github", "linked", "title", "mentions"]

LINK_SOURCES: tuple[LinkSource, ...] = ("published", "github", "linked", "title", "mentions")
"""Where a closing link can come from; the position is the bit in `Links.sources`."""

EDGE_TYPES: tuple[str, ...] = (
    "closes",
    "similar",
    "duplicate",
    "mentions",
    "reverts",
    "follows",
)
"""Edge types of the graph; the position is the type number that `Graph` stores."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """One issue or pull request, as it was read: nothing cut, null texts are ``""``.

    Times are seconds since 1970 in UTC. ``author`` is spelled without ``app/`` and ``[bot]``, and
    ``""`` when unknown. ``closes`` holds (repository, number) of the issues that the data itself
    says the PR closes, ``None`` when the data does not speak of it. ``base`` and ``head`` are
    branches of a PR; ``commits`` are its commits as text: ``Author: name <email>``, an empty line,
    the message.
    """

    repo: str
    kind: Kind
    number: int
    title: str
    body: str
    created_at: int
    author: str = ""
    is_bot: bool = False
    state: str = ""
    state_reason: str = ""
    closed_at: int | None = None
    merged_at: int | None = None
    labels: tuple[str, ...] = ()
    closes: tuple[tuple[str, int], ...] | None = None
    comments: tuple[str, ...] = ()
    base: str = ""
    url: str = ""
    head: str = ""
    commits: tuple[str, ...] = ()

    @property
    def ref(self) -> str:
        """How people write it: ``owner/name#12``, or ``#12`` in a corpus without repositories.

        >>> Ticket("", "pr", 7, "title", "", 0).ref
        '#7'
        """
        return f"{self.repo}#{self.number}"


@dataclass(frozen=True)
class WindowCut:
    """What the window kept and dropped (DESIGN §4 "Window").

    ``dropped_authors`` counts PRs by author filter; ``beyond_prs`` and ``beyond_issues`` count
    what lay past the newest ``window_prs`` and ``window_issues``.
    """

    read_issues: int
    read_prs: int
    kept_issues: int
    kept_prs: int
    dropped_authors: int = 0
    beyond_issues: int = 0
    beyond_prs: int = 0


@dataclass(frozen=True)
class TicketColumns:
    """What names and dates the tickets, in node order: 16 bytes a ticket, looked up by bisection.

    ``codes`` int64 ``[n]``, ascending, hold the place of the ticket's repository in ``repos``
    (sorted), whether it is a PR, and its number (32, 1 and 31 bits); ``created_at`` int64 ``[n]``
    is in seconds since 1970 UTC. ``untitled`` are the nodes whose title is blank; ``tells_closes``
    says whether any ticket's data speak of the issues it closes.
    """

    repos: tuple[str, ...]
    codes: npt.NDArray[np.int64]
    created_at: npt.NDArray[np.int64]
    untitled: Ids
    tells_closes: bool

    @classmethod
    def of(cls, tickets: Iterable[Ticket]) -> TicketColumns:
        """The columns of tickets that are in node order."""
        tickets = list(tickets)
        repos = sorted({ticket.repo for ticket in tickets})
        place = {repo: at for at, repo in enumerate(repos)}
        return cls(
            repos=tuple(repos),
            codes=ticket_codes(
                np.array([place[ticket.repo] for ticket in tickets], np.int64),
                np.array([ticket.kind == "pr" for ticket in tickets], np.bool_),
                np.array([ticket.number for ticket in tickets], np.int64),
            ),
            created_at=np.array([ticket.created_at for ticket in tickets], np.int64),
            untitled=np.array(
                [node for node, ticket in enumerate(tickets) if not ticket.title.strip()], np.int32
            ),
            tells_closes=any(ticket.closes is not None for ticket in tickets),
        )

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def is_pr(self) -> npt.NDArray[np.bool_]:
        """Whether each node is a pull request."""
        marks: npt.NDArray[np.bool_] = (self.codes & _PR) != 0
        return marks

    @cached_property
    def _place(self) -> dict[str, int]:
        return {repo: at for at, repo in enumerate(self.repos)}

    def find(self, repo: str, kind: Kind, number: int) -> int | None:
        """The node of a ticket; None: there is no such ticket."""
        place = self._place.get(repo)
        if place is None or not 0 <= number <= _NUMBER:
            return None
        code = place << 32 | (_PR if kind == "pr" else 0) | number
        node = int(self.codes.searchsorted(np.int64(code)))
        return node if node < len(self.codes) and self.codes[node] == code else None

    def name(self, node: int) -> tuple[str, Kind, int]:
        """The repository, kind and number of a node's ticket."""
        code = int(self.codes[node])
        return self.repos[code >> 32], "pr" if code & _PR else "issue", code & _NUMBER

    def ref(self, node: int) -> str:
        """`Ticket.ref` of a node."""
        repo, _, number = self.name(node)
        return f"{repo}#{number}"


def ticket_codes(
    places: npt.NDArray[np.int64], is_pr: npt.NDArray[np.bool_], numbers: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """`TicketColumns.codes` of tickets, from the places of their repositories; all ``[n]``.

    >>> ticket_codes(np.array([1]), np.array([True]), np.array([7])) == (1 << 32 | 1 << 31 | 7)
    array([ True])
    """
    return places << 32 | is_pr.astype(np.int64) << 31 | numbers


_PR = 1 << 31
_NUMBER = _PR - 1


class LazyTickets(OnDemand[Ticket]):
    """Tickets that stay in files and are read when they are asked for.

    Going through them in node order reads each once; ``columns`` tells what needs no reading.
    """

    columns: TicketColumns

    @abstractmethod
    def __iter__(self) -> Iterator[Ticket]: ...


@dataclass(frozen=True)
class Corpus:
    """The tickets of one or more repositories, in node order: the index is the node id.

    Node order is (repository, issue before PR, number). ``tickets`` are in memory, or in files
    (`LazyTickets`): whoever needs many of them goes through them once, in order. ``fingerprint``
    is the sha256 of what the tickets say. ``titles_only`` is true when the nodes were made from a
    gold file alone.
    """

    name: str
    tickets: Sequence[Ticket]
    cut: WindowCut
    fingerprint: str
    titles_only: bool = False
    generated: bool = False
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.tickets)

    @cached_property
    def columns(self) -> TicketColumns:
        """What names and dates the tickets, as arrays."""
        tickets = self.tickets
        return tickets.columns if isinstance(tickets, LazyTickets) else TicketColumns.of(tickets)

    @property
    def is_pr(self) -> npt.NDArray[np.bool_]:
        """Whether each node is a pull request."""
        return self.columns.is_pr

    @property
    def created_at(self) -> npt.NDArray[np.int64]:
        """When each node's ticket was created, seconds since 1970 UTC."""
        return self.columns.created_at

    @property
    def repos(self) -> tuple[str, ...]:
        """The repositories, sorted."""
        return self.columns.repos

    def node(self, repo: str, kind: Kind, number: int) -> int | None:
        """The node id of a ticket, or ``None`` when it is not in the corpus."""
        return self.columns.find(repo, kind, number)

    def read(self, nodes: Iterable[int]) -> Iterator[tuple[int, Ticket]]:
        """Some nodes with their tickets, each once and in node order, as files are read best."""
        for node in sorted(set(nodes)):
            yield node, self.tickets[node]


@dataclass(frozen=True)
class Links:
    """Closing links issue → PR, one row a pair, sorted by (issue node, PR node).

    ``sources`` has bit ``i`` set when ``LINK_SOURCES[i]`` found the pair.
    """

    issues: Ids
    prs: Ids
    sources: npt.NDArray[np.uint8]
    notes: Mapping[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.issues)

    def of(self, *names: LinkSource) -> Links:
        """The links that at least one of the named sources found."""
        wanted = sum(1 << LINK_SOURCES.index(name) for name in names)
        keep = (self.sources & wanted) != 0
        return Links(self.issues[keep], self.prs[keep], self.sources[keep], self.notes)

    def pairs(self) -> set[tuple[int, int]]:
        """Every (issue node, PR node)."""
        return set(zip(self.issues.tolist(), self.prs.tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class GoldPair:
    """A question with its answer: the issue that asks and the PR that fixed it.

    ``issue_node`` and ``pr_node`` are -1 when the ticket is not in the corpus. ``pr_repo`` is set
    only when the PR is in another repository than the issue.
    """

    repo: str
    issue: int
    pr: int
    query: str
    pr_title: str
    issue_node: int
    pr_node: int
    grade: int = 1
    pr_repo: str = ""


@dataclass(frozen=True)
class Gold:
    """All gold pairs, sorted by (repository, issue, PR); ``origin`` says who made them."""

    pairs: tuple[GoldPair, ...]
    origin: str
    fingerprint: str

    def __len__(self) -> int:
        return len(self.pairs)


@dataclass(frozen=True)
class Rankings:
    """What one arm returned for a batch of queries: ids and scores ``[queries, width]``.

    ``origins`` tells where each node came from: for a walk, the rank (from 1) of the seed that led
    to it; 0 where a node was found directly.
    """

    ids: Ids
    scores: Scores | None = None
    origins: npt.NDArray[np.int32] | None = None

    def __len__(self) -> int:
        return len(self.ids)
