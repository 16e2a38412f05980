"""From the keys of all records to the tickets that are kept: what `Window` does, on arrays.

`Window` holds every key of what it read in a dict; here the records of one number are looked at
together, some numbers at a time. The outcome is the same, counts and notes included.
"""

from __future__ import annotations

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


@dataclass
class _Gathered:
    """What the buckets gave. Candidates are tickets that only the window can still drop.

    ``rows`` are the records whose content they have, ``entered`` the records with which they came
    in. ``left``: the row of an issue that came in and was found to be a PR, its record, the PR's.
    ``differing``, by kind: with which record a ticket came in, and a record that differed from it.
    ``clashes``: kind and number of tickets without repository, and a repository that has one, too.
    """

    rows: list[Rows] = field(default_factory=list)
    entered: list[_Ints] = field(default_factory=list)
    left: list[tuple[Rows, int, int]] = field(default_factory=list)
    differing: dict[int, list[tuple[int, int]]] = field(default_factory=lambda: {0: [], PR: []})
    clashes: set[tuple[int, int, int]] = field(default_factory=set)
    tally: Tally = field(default_factory=Tally)


def choose(keys: KeyFiles, *, prs: int | None, issues: int | None) -> Kept:
    """The tickets that a window of these sizes keeps.

    Raises:
        OtherTime: repositories were mixed.
    """
    gathered = _Gathered()
    mixed: list[OtherTime] = []
    for bucket in range(BUCKETS):
        try:
            _gather(keys.bucket(bucket), keys.repos, gathered)
        except OtherTime as error:  # noqa: PERF203 - the first of all is told
            mixed.append(error)
    if mixed:
        raise min(mixed, key=lambda error: error.record)
    rows, entered = np.concatenate(gathered.rows), np.concatenate(gathered.entered)
    gathered.rows, gathered.entered = [], []
    rank = _ranks(keys.repos)
    is_pr = (rows["flags"] & PR) != 0
    kept = np.zeros(len(rows), np.bool_)
    for kind, limit in ((0, issues), (PR, prs)):
        mine = np.flatnonzero(is_pr == bool(kind))
        kept[mine] = _within(limit, rows[mine], entered[mine], gathered, kind, rank)
    return _kept(keys.repos, rows[kept], gathered)


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
    gathered.rows.append(single[~dropped])
    gathered.entered.append(single["record"][~dropped])
    seen = [single]
    for start, size in zip(starts[sizes > 1].tolist(), sizes[sizes > 1].tolist(), strict=True):
        seen.append(_group(rows[start : start + size], repos, gathered))
    if "" in repos and len(repos) > 1:
        gathered.clashes |= _clashes(np.concatenate(seen), repos.index(""))


def _group(rows: Rows, repos: list[str], gathered: _Gathered) -> Rows:
    """The records of one number of one repository, in order: what `Window.add` does with them.

    Returns one for the issue and one for the PR that there are in the end.
    """
    tally = gathered.tally
    seen: dict[int, int] = {}
    updated: dict[int, int] = {}
    kept: dict[int, tuple[int, int]] = {}
    flags, records, created = (rows[name].tolist() for name in ("flags", "record", "created_at"))
    for at, record in enumerate(records):
        kind = flags[at] & PR
        other = PR - kind
        if kind in seen:
            if created[seen[kind]] != created[at]:
                raise OtherTime(record, int(rows["number"][at]))
            tally.repeated += 1
            if kind in kept:
                entered, now = kept[kind]
                if rows["digest"][now] != rows["digest"][at]:
                    gathered.differing[kind].append((entered, record))
                    if rows["updated_at"][at] >= updated[kind]:
                        kept[kind], updated[kind] = (entered, at), int(rows["updated_at"][at])
            continue
        if other in seen and created[seen[other]] == created[at]:
            tally.listed_twice += 1
            if kind != PR:
                continue
            del seen[other]
            if other in kept:
                entered, now = kept.pop(other)
                gathered.left.append((rows[now : now + 1], entered, record))
        seen[kind], updated[kind] = at, int(rows["updated_at"][at])
        if flags[at] & MECHANICAL:
            tally.dropped_authors += 1
            continue
        kept[kind] = record, at
    tally.prs += PR in seen
    tally.issues += 0 in seen
    if len(seen) == 2:
        tally.both += 1
        place = repos[int(rows["repo"][0])], int(rows["number"][0])
        tally.first_both = min(place, tally.first_both or place)
    for entered, at in kept.values():
        gathered.rows.append(rows[at : at + 1])
        gathered.entered.append(np.array([entered]))
    return rows[list(seen.values())]


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
    limit: int | None, rows: Rows, entered: _Ints, gathered: _Gathered, kind: int, rank: _Ints
) -> npt.NDArray[np.bool_]:
    """Which candidates of a kind are among the newest; counts the records that differed."""
    kept = np.ones(len(rows), np.bool_)
    left = [one for one in gathered.left if one[0]["flags"][0] & PR == kind]
    differing = len(gathered.differing[kind])
    if limit is not None:
        order = np.lexsort((rank[rows["repo"]], -rows["number"], -rows["created_at"]))
        if len(rows) + len(left) > limit + 2 * SPARE:
            gone, differing = _gone_early(
                limit, rows, entered, left, gathered.differing[kind], rank
            )
            kept[gone] = False
            order = order[kept[order]]
        kept[order[limit:]] = False
    gathered.tally.differing += differing
    return kept


def _gone_early(
    limit: int,
    rows: Rows,
    entered: _Ints,
    left: list[tuple[Rows, int, int]],
    differing: list[tuple[int, int]],
    rank: _Ints,
) -> tuple[_Ints, int]:
    """Which candidates `Window` lets go while it still reads, and how many differed while held.

    It holds somewhat more than its limit; what it let go does not come back, even if many of those
    held turn out to be PRs.
    """
    entries = np.concatenate([rows, *(row for row, _, _ in left)])
    came = np.concatenate([entered, np.array([at for _, at, _ in left], np.int64)])
    outs = np.array([(record, at) for _, at, record in left], np.int64).reshape(-1, 2)
    others = np.array([(record, at) for at, record in differing], np.int64).reshape(-1, 2)
    when = np.concatenate([came, outs[:, 0], others[:, 0]])
    who = np.concatenate([came, outs[:, 1], others[:, 1]])
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
            elif event < len(came) + len(outs):
                held.pop(at, None)
            else:
                count += at in held
    return np.flatnonzero(~np.isin(entered, np.fromiter(held, np.int64, len(held)))), count


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
    rows = rows[order]
    return Kept(
        records=rows["record"].copy(),
        sizes=rows["size"].astype(np.int64),
        repos=tuple(names),
        codes=codes[order],
        created_at=rows["created_at"].copy(),
        untitled=np.flatnonzero(rows["flags"] & UNTITLED).astype(np.int32),
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
