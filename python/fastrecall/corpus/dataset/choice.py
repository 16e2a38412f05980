"""From the keys of all records to the tickets that are kept: what `Window` does, on arrays.

`Window` holds every key of what it read in a dict; here the records of one number are looked at
together, some numbers at a time. The outcome is the same, counts and notes included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fastrecall.corpus.dataset.keys import (
    BUCKETS,
    MECHANICAL,
    PR,
    TELLS_CLOSES,
    UNTITLED,
    KeyFiles,
    Rows,
)
from fastrecall.corpus.window import SPARE, Tally
from fastrecall.types import Ids, WindowCut, ticket_codes

_Ints = npt.NDArray[np.int64]

_EVENTS_AT_ONCE = 1 << 16


class OtherTime(Exception):  # noqa: N818 - never leaves the room: the writer names the record
    """A record repeats a number with another creation time."""

    def __init__(self, record: int, number: int) -> None:
        super().__init__(record, number)
        self.record = record
        self.number = number


class Kept(NamedTuple):
    """The kept tickets, all arrays in node order.

    ``records`` are the places of their records among all, ``sizes`` about what they say in bytes;
    ``codes``, ``created_at``, ``untitled``, ``tells_closes`` are as in `TicketColumns`. Where
    ``renamed`` is not empty, it is the repository of the tickets that name none.
    """

    records: _Ints
    sizes: _Ints
    repos: tuple[str, ...]
    codes: _Ints
    created_at: _Ints
    untitled: Ids
    tells_closes: bool
    renamed: str
    cut: WindowCut
    notes: tuple[str, ...]


_CANDIDATE = np.dtype(
    [
        ("record", np.int64),
        ("entered", np.int64),
        ("repo", np.int32),
        ("number", np.int32),
        ("created_at", np.int64),
        ("size", np.int32),
        ("flags", np.uint8),
    ]
)
"""A ticket that only the window can still drop: what is needed of the record whose content it has,
and ``entered``, the record with which it came in."""


@dataclass
class _Gathered:
    """What the buckets gave, as arrays that are to be joined.

    ``left`` are the issues that came in and were found to be PRs, ``found`` the records of these.
    ``differing``, by kind: with which record a ticket came in, and a record that differed from it.
    ``clashes``: kind and number of tickets without repository, and a repository that has one, too.
    ``mixed``: records that repeat a number with another creation time, and the number.
    """

    rows: list[Rows] = field(default_factory=list)
    left: list[Rows] = field(default_factory=list)
    found: list[_Ints] = field(default_factory=list)
    differing: dict[int, list[_Ints]] = field(default_factory=lambda: {0: [], PR: []})
    clashes: set[tuple[int, int, int]] = field(default_factory=set)
    mixed: list[tuple[int, int]] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)


def choose(keys: KeyFiles, *, prs: int | None, issues: int | None) -> Kept:
    """The tickets that a window of these sizes keeps.

    Raises:
        OtherTime: repositories were mixed; the first record that shows it.
    """
    gathered = _Gathered()
    for bucket in range(BUCKETS):
        _gather(keys.bucket(bucket), keys.repos, gathered)
    if gathered.mixed:
        raise OtherTime(*min(gathered.mixed))
    rows = np.concatenate(gathered.rows)
    gathered.rows = []
    rank = _ranks(keys.repos)
    is_pr = (rows["flags"] & PR) != 0
    kept = np.zeros(len(rows), np.bool_)
    for kind, limit in ((0, issues), (PR, prs)):
        mine = np.flatnonzero(is_pr == bool(kind))
        kept[mine] = _within(limit, rows[mine], gathered, kind, rank)
    if not kept.all():
        rows = rows[kept]
    return _kept(keys.repos, rows, gathered)


def _ranks(repos: list[str]) -> _Ints:
    """The place of each repository in their sorted order."""
    ranks = np.zeros(len(repos), np.int64)
    ranks[sorted(range(len(repos)), key=repos.__getitem__)] = np.arange(len(repos))
    return ranks


def _gather(rows: Rows, repos: list[str], gathered: _Gathered) -> None:
    """Look at the rows of one bucket: single ones all at once, the others number by number."""
    rows = rows[np.lexsort((rows["record"], rows["repo"], rows["number"]))]
    first = np.ones(len(rows), np.bool_)
    first[1:] = (rows["number"][1:] != rows["number"][:-1]) | (
        rows["repo"][1:] != rows["repo"][:-1]
    )
    starts = np.flatnonzero(first)
    sizes = np.diff(np.append(starts, len(rows)))
    single = rows[starts[sizes == 1]]
    tally = gathered.tally
    prs = int(np.count_nonzero(single["flags"] & PR))
    tally.prs += prs
    tally.issues += len(single) - prs
    dropped = (single["flags"] & MECHANICAL) != 0
    tally.dropped_authors += int(np.count_nonzero(dropped))
    gathered.rows.append(_candidates(single[~dropped], single["record"][~dropped]))
    repeated = _Repeated(rows[np.repeat(sizes > 1, sizes)], repos, gathered)
    stops = np.cumsum(sizes[sizes > 1]).tolist()
    for start, stop in zip([0, *stops], stops, strict=False):
        repeated.settle(start, stop)
    repeated.gather()
    if "" in repos and len(repos) > 1:
        seen = np.concatenate([single, repeated.rows[repeated.seen]])
        gathered.clashes |= _clashes(seen, repos.index(""))


def _candidates(rows: Rows, entered: _Ints) -> Rows:
    """The rows as candidates; *entered* are the records with which they came in."""
    candidates = np.empty(len(rows), _CANDIDATE)
    candidates["entered"] = entered
    for name in _CANDIDATE.names or ():
        if name != "entered":
            candidates[name] = rows[name]
    return candidates


class _Repeated:
    """The records of one bucket whose number came more than once, in order: what `Window.add` does.

    Of columns there are lists, for a look at a time costs less in them. ``seen`` are one record for
    each issue and PR that there are in the end.
    """

    def __init__(self, rows: Rows, repos: list[str], gathered: _Gathered) -> None:
        self.rows = rows
        self.seen: list[int] = []
        self._repos = repos
        self._gathered = gathered
        self._flags: list[int] = rows["flags"].tolist()
        self._records: list[int] = rows["record"].tolist()
        self._created: list[int] = rows["created_at"].tolist()
        self._updated: list[int] = rows["updated_at"].tolist()
        self._digests: list[bytes] = rows["digest"].tolist()
        self._kept: list[tuple[int, int]] = []
        self._left: list[tuple[int, int, int]] = []
        self._differing: dict[int, list[tuple[int, int]]] = {0: [], PR: []}

    def settle(self, start: int, stop: int) -> None:
        """Look at the records from *start* to before *stop*, of one number and repository."""
        tally = self._gathered.tally
        flags, records, created = self._flags, self._records, self._created
        seen: dict[int, int] = {}
        updated: dict[int, int] = {}
        kept: dict[int, tuple[int, int]] = {}
        for at in range(start, stop):
            kind = flags[at] & PR
            other = PR - kind
            if kind in seen:
                if created[seen[kind]] != created[at]:
                    number = int(self.rows["number"][at])
                    self._gathered.mixed.append((records[at], number))
                    return
                tally.repeated += 1
                if kind in kept:
                    entered, now = kept[kind]
                    if self._digests[now] != self._digests[at]:
                        self._differing[kind].append((entered, records[at]))
                    if self._updated[at] >= updated[kind]:
                        kept[kind], updated[kind] = (entered, at), self._updated[at]
                continue
            if other in seen and created[seen[other]] == created[at]:
                tally.listed_twice += 1
                if kind != PR:
                    continue
                del seen[other]
                if other in kept:
                    self._left.append((*kept.pop(other), records[at]))
            seen[kind], updated[kind] = at, self._updated[at]
            if flags[at] & MECHANICAL:
                tally.dropped_authors += 1
                continue
            kept[kind] = records[at], at
        tally.prs += PR in seen
        tally.issues += 0 in seen
        if len(seen) == 2:
            tally.both += 1
            one = self.rows[start]
            place = self._repos[int(one["repo"])], int(one["number"])
            tally.first_both = min(place, tally.first_both or place)
        self._kept += kept.values()
        self.seen += seen.values()

    def gather(self) -> None:
        """Tell what was found."""
        kept, left = _table(self._kept, 2), _table(self._left, 3)
        gathered = self._gathered
        gathered.rows.append(_candidates(self.rows[kept[:, 1]], kept[:, 0]))
        gathered.left.append(_candidates(self.rows[left[:, 1]], left[:, 0]))
        gathered.found.append(left[:, 2])
        for kind, pairs in self._differing.items():
            gathered.differing[kind].append(_table(pairs, 2))


def _table(rows: Sequence[tuple[int, ...]], columns: int) -> _Ints:
    return np.array(rows, np.int64).reshape(-1, columns)


def _clashes(seen: Rows, nameless: int) -> set[tuple[int, int, int]]:
    """Kind, number and repository of tickets whose number one without repository has, too."""
    keys = seen["number"].astype(np.int64) << 1 | (seen["flags"] & PR)
    named = seen["repo"] != nameless
    both = named & np.isin(keys, keys[~named])
    return set(
        zip(
            (keys[both] & 1).tolist(),
            (keys[both] >> 1).tolist(),
            seen["repo"][both].tolist(),
            strict=True,
        )
    )


def _within(
    limit: int | None, rows: Rows, gathered: _Gathered, kind: int, rank: _Ints
) -> npt.NDArray[np.bool_]:
    """Which candidates of a kind are among the newest; counts the records that differed."""
    kept = np.ones(len(rows), np.bool_)
    left, found = np.concatenate(gathered.left), np.concatenate(gathered.found)
    mine = (left["flags"] & PR) == kind
    differing = np.concatenate(gathered.differing[kind])
    count = len(differing)
    if limit is not None:
        order = np.lexsort((rank[rows["repo"]], -rows["number"], -rows["created_at"]))
        if len(rows) + np.count_nonzero(mine) > limit + 2 * SPARE:
            gone, count = _gone_early(limit, rows, left[mine], found[mine], differing, rank)
            kept[gone] = False
            order = order[kept[order]]
        kept[order[limit:]] = False
    gathered.tally.differing += count
    return kept


def _gone_early(
    limit: int, rows: Rows, left: Rows, found: _Ints, differing: _Ints, rank: _Ints
) -> tuple[_Ints, int]:
    """Which candidates `Window` lets go while it still reads, and how many differed while held.

    It holds somewhat more than its limit; what it let go does not come back, even if many of those
    held turn out to be PRs.
    """
    entries = np.concatenate([rows, left])
    came = entries["entered"]
    when = np.concatenate([came, found, differing[:, 1]])
    who = np.concatenate([came, left["entered"], differing[:, 0]])
    order = np.argsort(when)
    held: dict[int, tuple[int, int, int]] = {}
    count = 0
    for first in range(0, len(order), _EVENTS_AT_ONCE):
        events = order[first : first + _EVENTS_AT_ONCE]
        entering = entries[np.minimum(events, len(entries) - 1)]
        for event, at, created, number, repo in zip(
            events.tolist(),
            who[events].tolist(),
            entering["created_at"].tolist(),
            entering["number"].tolist(),
            rank[entering["repo"]].tolist(),
            strict=True,
        ):
            if event < len(came):
                held[at] = -created, -number, repo
                if len(held) > limit + 2 * SPARE:
                    newest = sorted(held, key=held.__getitem__)[: limit + SPARE]
                    held = {one: held[one] for one in newest}
            elif event < len(came) + len(found):
                held.pop(at, None)
            else:
                count += at in held
    gone = ~np.isin(rows["entered"], np.fromiter(held, np.int64, len(held)))
    return np.flatnonzero(gone), count


def _kept(repos: list[str], rows: Rows, gathered: _Gathered) -> Kept:
    """The kept rows in node order, as columns."""
    pulls = int(np.count_nonzero(rows["flags"] & PR))
    there = [repos[place] for place in np.unique(rows["repo"]).tolist()]
    renamed = _one_repository(there, repos, rows, gathered.clashes)
    names = sorted({repo or renamed for repo in there})
    place = {name: at for at, name in enumerate(names)}
    place_of = np.array([place.get(repo or renamed, -1) for repo in repos], np.int64)
    codes = ticket_codes(
        place_of[rows["repo"]], (rows["flags"] & PR) != 0, rows["number"].astype(np.int64)
    )
    order = np.argsort(codes)
    # A column at a time: rows need not be held twice.
    return Kept(
        records=rows["record"][order],
        sizes=rows["size"][order].astype(np.int64),
        repos=tuple(names),
        codes=codes[order],
        created_at=rows["created_at"][order],
        untitled=np.flatnonzero(rows["flags"][order] & UNTITLED).astype(np.int32),
        tells_closes=bool((rows["flags"] & TELLS_CLOSES).any()),
        renamed=renamed,
        cut=gathered.tally.cut(len(rows) - pulls, pulls),
        notes=tuple(gathered.tally.notes()),
    )


def _one_repository(
    there: list[str], repos: list[str], rows: Rows, clashes: set[tuple[int, int, int]]
) -> str:
    """The one repository that some kept tickets name and all others are of, too; ``""``: none."""
    if len(there) != 2 or "" not in there:
        return ""
    name = max(there)
    nameless = rows[rows["repo"] == repos.index("")]
    kinds, numbers = (nameless["flags"] & PR).tolist(), nameless["number"].tolist()
    place = repos.index(name)
    clash = any((*one, place) in clashes for one in zip(kinds, numbers, strict=True))
    return "" if clash else name
