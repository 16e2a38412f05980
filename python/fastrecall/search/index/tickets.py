"""Tickets as columns of an index: any one is read without the others."""

from __future__ import annotations

import contextlib
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fastrecall._on_demand import OnDemand
from fastrecall.search.index.folder import Arrays
from fastrecall.search.index.strings import Codes, PackedFile, Strings, packed
from fastrecall.types import Corpus, Kind, Ticket

BODY_KEPT = 4000
"""Characters of a body that an index keeps, to quote from."""

_NEVER = int(np.iinfo(np.int64).min)
_TEXTS = ("title", "body", "url")
_NAMES = ("repo", "author", "state", "state_reason")


def ticket_arrays(corpus: Corpus, scratch: Path) -> Arrays:
    """The columns of the corpus' tickets, by the names of their files.

    The tickets are gone through once; long texts are mapped from files in the folder *scratch*.

    Raises:
        CacheError: the folder cannot be written.
    """
    numbers = {name: array("q") for name in ("number", "closed_at", "merged_at")}
    names = {name: Codes() for name in _NAMES}
    with contextlib.ExitStack() as stack:
        texts = {name: stack.enter_context(PackedFile(scratch / name)) for name in _TEXTS}
        for ticket in corpus.tickets:
            for name, values in numbers.items():
                value = getattr(ticket, name)
                values.append(_NEVER if value is None else value)
            for name, codes in names.items():
                codes.add(getattr(ticket, name))
            for name, file in texts.items():
                file.add(getattr(ticket, name)[:BODY_KEPT])
    arrays: Arrays = {"is_pr": corpus.is_pr, "created_at": corpus.created_at}
    arrays |= {name: np.array(values, np.int64) for name, values in numbers.items()}
    for name, file in texts.items():
        arrays[f"{name}_bytes"], arrays[f"{name}_ends"] = file.arrays()
    for name, codes in names.items():
        arrays[f"{name}_bytes"], arrays[f"{name}_ends"] = packed(codes.names)
        arrays[f"{name}_code"] = codes.array()
    return arrays


class StoredTickets(OnDemand[Ticket]):
    """The tickets of an index, in node order, with what search needs of them.

    Bodies end after `BODY_KEPT` characters; labels, comments, branches and commits are not kept.
    """

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = arrays
        self._strings = {
            name: Strings(arrays[f"{name}_bytes"], arrays[f"{name}_ends"])
            for name in (*_TEXTS, *_NAMES)
        }
        self.is_pr: npt.NDArray[np.bool_] = arrays["is_pr"]
        self.created_at: npt.NDArray[np.int64] = arrays["created_at"]

    def __len__(self) -> int:
        return len(self.is_pr)

    def item(self, at: int) -> Ticket:
        """See `OnDemand`."""
        texts: dict[str, Any] = {name: self._strings[name][at] for name in _TEXTS}
        for name in _NAMES:
            texts[name] = self._strings[name][int(self._arrays[f"{name}_code"][at])]
        return Ticket(
            kind="pr" if self.is_pr[at] else "issue",
            number=int(self._arrays["number"][at]),
            created_at=int(self.created_at[at]),
            closed_at=self._moment("closed_at", at),
            merged_at=self._moment("merged_at", at),
            **texts,
        )

    def _moment(self, name: str, node: int) -> int | None:
        at = int(self._arrays[name][node])
        return None if at == _NEVER else at

    def distinct(self, name: str) -> Sequence[str]:
        """The repositories (``repo``) or accounts (``author``) that there are, sorted."""
        return self._strings[name]

    def of(self, name: str, wanted: str) -> npt.NDArray[np.bool_]:
        """Which nodes have that repository (``repo``) or ``author``; case does not matter."""
        codes = [at for at, one in enumerate(self._strings[name]) if one.lower() == wanted.lower()]
        return np.isin(self._arrays[f"{name}_code"], codes)

    def find(self, number: int, *, repo: str = "", kind: Kind | None = None) -> list[int]:
        """The nodes with that number; of any repository when *repo* is empty."""
        nodes = np.flatnonzero(self._arrays["number"] == number).tolist()
        if repo:
            there = self.of("repo", repo)
            nodes = [node for node in nodes if there[node]]
        return [node for node in nodes if kind in (None, "pr" if self.is_pr[node] else "issue")]
