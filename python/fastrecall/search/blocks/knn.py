"""The nearest neighbours of vectors that need not fit in memory, a part of the graph a task."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fastrecall._files import atomic_write, remove_leftovers
from fastrecall._term import progress
from fastrecall.errors import CacheError
from fastrecall.execution import Executor
from fastrecall.search.blocks.parts import (
    LEFT_ALONE_S,
    IdsOfQueries,
    Range,
    nothing_found,
    ranges,
)
from fastrecall.search.blocks.room import Room
from fastrecall.search.blocks.scan import (
    Question,
    block_index,
    read_rows,
    search_range,
    told_by_row,
)
from fastrecall.types import Ids, Scores, VectorSource

ROWS_OF_PART = 1 << 16
"""Vectors whose neighbours one task finds: each task reads all vectors, so not too few."""

_VERSION = 1
_DIGEST = 16


def knn_graph(
    source: VectorSource, room: Room, executor: Executor, folder: str | os.PathLike[str] | None
) -> tuple[Ids, Scores]:
    """See `BlockedIndex.knn_graph`."""
    size = len(source)
    ids, scores = nothing_found(size, room.k)
    parts = None
    if folder is not None:  # as a path that means the same wherever a task runs
        parts = Parts(Path(folder).absolute(), _key(source, room, executor), room.k, size)
        remove_leftovers(parts.folder, "neighbours-*", idle_s=LEFT_ALONE_S)
    with progress("nearest neighbours", size) as advance:

        def keep(task: Range, found: tuple[Ids, Scores]) -> None:
            ids[slice(*task)], scores[slice(*task)] = found
            advance(task[1] - task[0])

        missing = []
        for task in ranges(0, size, ROWS_OF_PART):
            if parts is not None and (part := parts.read(task)) is not None:
                keep(task, part)
            else:
                missing.append(task)
        if missing and room.holds_graph(size):
            missing = [(0, size)]
        job = Job(source, room, parts)
        found_parts = executor.map(neighbours_of, missing, shared=job)
        for task, found in zip(missing, found_parts, strict=True):
            if found is not None:
                keep(task, found)
            elif parts is not None:
                for one in ranges(*task, ROWS_OF_PART):
                    keep(one, parts.written(one))
    return ids, scores


@dataclass(frozen=True)
class Parts:
    """Files of *k* neighbours each, of *size* vectors, in a folder.

    A file is a digest of all that follows, a key that tells which vectors, *k* and rows it belongs
    to, ids and scores.
    """

    folder: Path
    key: bytes
    k: int
    size: int

    def path(self, task: Range) -> Path:
        """The file of a range of vectors."""
        return self.folder / f"neighbours-{task[0]:012}"

    def write(self, task: Range, ids: Ids, scores: Scores) -> None:
        """Write a part, whole or not at all.

        Raises:
            CacheError: the folder cannot be written.
        """
        content = self._key(task), ids.astype("<i4").data, scores.astype("<f4").data
        with atomic_write(self.path(task), binary=True) as file:
            file.write(_digest(content))
            for part in content:
                file.write(part)

    def _key(self, task: Range) -> bytes:
        return _digest([self.key, repr(task).encode()])

    def written(self, task: Range) -> tuple[Ids, Scores]:
        """A part that a task has just written.

        Raises:
            CacheError: it is not there.
        """
        found = self.read(task)
        if found is None:
            raise CacheError(
                f"{self.path(task)} was written and is not there or not whole; expected a folder "
                "that all workers share, on a disk that keeps what it is given"
            )
        return found

    def read(self, task: Range) -> tuple[Ids, Scores] | None:
        """A part that is there, of these vectors, and unchanged; else None."""
        try:
            data = self.path(task).read_bytes()
        except OSError:
            return None
        shape = (task[1] - task[0], self.k)
        ids_at = 2 * _DIGEST
        scores_at = ids_at + 4 * shape[0] * shape[1]
        if (
            len(data) != 2 * scores_at - ids_at
            or data[_DIGEST:ids_at] != self._key(task)
            or data[:_DIGEST] != _digest([memoryview(data)[_DIGEST:]])
        ):
            return None
        ids = np.frombuffer(data[ids_at:scores_at], "<i4").reshape(shape)
        scores = np.frombuffer(data[scores_at:], "<f4").reshape(shape)
        return (ids, scores) if self._are_neighbours(task, ids, scores) else None

    def _are_neighbours(self, task: Range, ids: Ids, scores: Scores) -> bool:
        """Whether the rows of *task* can have these: others that exist, best first."""
        exist = ids >= 0
        others = (ids >= -1) & (ids < self.size) & (ids != np.arange(*task)[:, None])
        scored = np.where(exist, np.isfinite(scores), np.isnan(scores))
        best_first = (exist[:, :-1] >= exist[:, 1:]) & ~(scores[:, :-1] < scores[:, 1:])
        return bool(others.all() and scored.all() and best_first.all())


@dataclass(frozen=True)
class Job:
    """What all tasks of a graph share."""

    source: VectorSource
    room: Room
    parts: Parts | None


def neighbours_of(job: Job, task: Range, threads: int) -> tuple[Ids, Scores] | None:
    """The neighbours of the rows of *task*; None when they were written into files."""
    size, k = len(job.source), job.room.k
    if task == (0, size) and job.room.holds_graph(size):
        index = block_index(job.source, *task, codes=True, threads=threads)
        ids, scores = index.knn_graph(k, threads=threads)
    else:
        ids, scores = _by_search(job, task, threads)
    if job.parts is None:
        return ids, scores
    for start, stop in ranges(*task, ROWS_OF_PART):
        inside = slice(start - task[0], stop - task[0])
        job.parts.write((start, stop), ids[inside], scores[inside])
    return None


def _by_search(job: Job, task: Range, threads: int) -> tuple[Ids, Scores]:
    """Each row asks for all others."""
    ids, scores = nothing_found(task[1] - task[0], job.room.k)
    for start, stop in ranges(*task, job.room.most_queries(task[1] - task[0])):
        rows = read_rows(job.source, start, stop)
        itself = IdsOfQueries(np.arange(len(rows) + 1), np.arange(start, stop, dtype=np.int32))
        question = Question(job.source, rows, job.room, itself, None)
        inside = slice(start - task[0], stop - task[0])
        with told_by_row(rows, start):
            ids[inside], scores[inside] = search_range(question, (0, len(job.source)), threads)
    return ids, scores


def _key(source: VectorSource, room: Room, executor: Executor) -> bytes:
    """What tells a graph from that of other vectors or another *k*."""
    tasks = ranges(0, len(source), ROWS_OF_PART)
    digests = executor.map(_digest_of_rows, tasks, shared=(source, room.rows_of_block(1)))
    settings = (_VERSION, len(source), source.dim, room.k, ROWS_OF_PART)
    return _digest([repr(settings).encode(), *digests])


def _digest_of_rows(shared: tuple[VectorSource, int], task: Range, threads: int) -> bytes:
    source, rows = shared
    return _digest(source.read(*block).tobytes() for block in ranges(*task, rows))


def _digest(parts: Iterable[bytes | memoryview]) -> bytes:
    digest = hashlib.blake2b(digest_size=_DIGEST)
    for part in parts:
        digest.update(part)
    return digest.digest()
