"""BM25 over texts whose postings need not fit in memory.

Texts are counted once, block by block, into files (`postings`). A search takes two passes over
them. The first adds up what the formula needs to know of all texts: how many exist for a query, how
many terms they have, how many hold each of its terms. These are whole numbers, so that their sums
are those of one big index, and the second pass scores each text to the bit as that would. Each pass
reads the postings of the terms that are asked for, and no others.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fastrecall import _core
from fastrecall._memory import parse_bytes
from fastrecall._ragged import IdLists
from fastrecall._term import progress
from fastrecall.errors import InputError
from fastrecall.execution import Executor, LocalExecutor
from fastrecall.search import tokens
from fastrecall.search.blocks.counting import Block, Counting, count_all
from fastrecall.search.blocks.parts import (
    Flags,
    IdsOfQueries,
    checked_flags,
    merged,
    nothing_found,
    ranges,
)
from fastrecall.search.bm25 import (
    AskedTerms,
    Terms,
    asked_terms,
    check_formula,
    field_weights,
)
from fastrecall.types import Ids, Scores

Counts = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]
"""Of all texts that exist for each query: how many, their terms by field, holders of each term."""


class BlockedBM25:
    """Keyword search in texts block by block, with the answers of one `BM25`, to the bit.

    The texts are read once, when the index is made. Files of counted blocks take somewhat more than
    the texts; every search reads from them what it asks for, so that the questions of
    several protocols cost no second counting.

    Args:
        texts: as for `BM25`; sequences are sliced, 1,024 texts at a time, and may read from disk.
        memory: upper bound of what a task allocates, in bytes or as ``"4GB"``: the texts of a block
            and what counting them takes; in a search, the asked postings of a block, lengths,
            scores and results. A batch of questions whose results or masks take more than a quarter
            is asked in parts. Not counted: the interpreter and its libraries (about 60 MB), the
            cache of words' terms (up to 40 MB), 1,024 texts as they were read, the questions, masks
            and results that caller and answer hold, and what a single text takes that is longer
            than this allows.
        folder: where the counted blocks are kept, for this index alone. Those of an earlier index,
            finished or not, of the same texts, options and memory are used again. With an executor
            of several machines, all of them must see it. A temporary folder, which goes with the
            index, when ``None``.
        k1, b, weights, terms, mask_references: as for `BM25`; *terms* is a function of a module.
        executor: what runs the tasks; in this process when ``None``.
        threads: threads of a task in this process; all usable cores when ``None``.

    Raises:
        InputError: as `BM25`; no amount of memory.
        CacheError: the folder cannot be written.

    >>> index = BlockedBM25(["crash on empty query", "slow query", "crash"], memory="8MB")
    >>> index.search(["crash query"], k=2)[0].tolist()
    [[0, 2]]
    """

    def __init__(
        self,
        texts: Sequence[str] | Mapping[str, Sequence[str]],
        *,
        memory: int | str,
        folder: str | os.PathLike[str] | None = None,
        k1: float = 1.2,
        b: float = 0.75,
        weights: Mapping[str, float] | None = None,
        terms: Terms = tokens.terms,
        mask_references: bool = False,
        executor: Executor | None = None,
        threads: int | None = None,
    ) -> None:
        check_formula(k1, b)
        fields = texts if isinstance(texts, Mapping) else {"text": texts}
        field_weights(fields, weights or {})
        self._formula = k1, b
        self._terms, self._mask_references = terms, mask_references
        self._memory = parse_bytes(memory)
        self._executor = executor or LocalExecutor(threads=threads)
        self._size = len(next(iter(fields.values())))
        if folder is None:
            folder = tempfile.mkdtemp(prefix="fastrecall-")
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        # Tasks may run where another folder is the current one.
        place = Path(folder).absolute()
        counting = Counting(fields, weights or {}, terms, mask_references, place, self._memory)
        self._blocks = count_all(counting, self._executor)

    def __len__(self) -> int:
        return self._size

    def search(
        self,
        queries: Sequence[str],
        k: int,
        *,
        exclude: IdLists | None = None,
        visible: Flags | None = None,
        mask: Flags | None = None,
    ) -> tuple[Ids, Scores]:
        """The *k* best nodes for each query: `BM25.search`, block by block.

        Raises:
            InputError: as there.
            CacheError: a file of the index has gone, become shorter, is damaged, or was replaced.

        >>> index = BlockedBM25(["a b", "b c", "c"], memory="8MB")
        >>> index.search(["c"], k=2, exclude=[2])[0].tolist()
        [[1, -1]]
        """
        if k < 1:
            raise InputError(f"k is {k}; expected 1 or more")
        count, size = len(queries), self._size
        ids, scores = nothing_found(count, k)
        absent = IdsOfQueries.of(exclude, queries=count, size=size)
        visible = checked_flags(visible, "visible", queries=count, size=size)
        mask = checked_flags(mask, "mask", queries=count, size=size)
        if not self._blocks:
            return ids, scores
        at_once = self._most_queries(k, visible, mask)
        with progress("searching", 2 * len(self._blocks) * -(-count // at_once)) as advance:
            for begin, end in ranges(0, count, at_once):
                question = self._question(
                    queries[begin:end],
                    None if absent is None else absent.of_queries(begin, end),
                    _of_queries(visible, begin, end),
                    _of_queries(mask, begin, end),
                )
                counts = self._counts(question, advance)
                best = ids[begin:end], scores[begin:end]
                found = self._executor.map(search_block, self._blocks, shared=(question, counts, k))
                for block, part in zip(self._blocks, found, strict=True):
                    best = merged(best, part, start=block.rows[0])
                    advance(1)
                ids[begin:end], scores[begin:end] = best
        return ids, scores

    def scores(
        self, query: str, *, exclude: Sequence[int] = (), visible: Flags | None = None
    ) -> npt.NDArray[np.float64]:
        """The score of every node ``[n]`` for one query: `BM25.scores`.

        >>> BlockedBM25(["a b", "b c"], memory="8MB").scores("c").round(3).tolist()
        [0.0, 0.315]
        """
        if not self._blocks:
            return np.empty(0)
        question = self._question(
            [query],
            IdsOfQueries.of([np.asarray(exclude, np.int32)], queries=1, size=self._size),
            checked_flags(visible, "visible", queries=1, size=self._size),
            None,
        )
        counts = self._counts(question, lambda _: None)
        parts = self._executor.map(score_block, self._blocks, shared=(question, counts))
        return np.concatenate(list(parts))

    def _most_queries(self, k: int, *flags: Flags | None) -> int:
        rows = max((stop - start for (start, stop), _ in self._blocks), default=0)
        flag_bytes = rows * sum(one is not None and len(one) > 1 for one in flags)
        return max(1, self._memory // 4 // (64 * k + flag_bytes))

    def _question(
        self,
        queries: Sequence[str],
        exclude: IdsOfQueries | None,
        visible: Flags | None,
        mask: Flags | None,
    ) -> Question:
        numbers = _Numbers()
        asked = asked_terms(queries, numbers, self._terms, self._mask_references)
        return Question(self._formula, list(numbers), asked, exclude, visible, mask)

    def _counts(self, question: Question, advance: Callable[[int], None]) -> Counts:
        """What the formula takes from all texts: the sums over the blocks."""
        total: Counts | None = None
        for part in self._executor.map(count_block, self._blocks, shared=question):
            if total is None:  # copied: what another process sent may be read-only
                total = (part[0].copy(), part[1].copy(), part[2].copy())
            else:
                for sums, counts in zip(total, part, strict=True):
                    sums += counts
            advance(1)
        assert total is not None  # not asked for without blocks
        return total


class _Numbers(dict[str, int]):
    """A vocabulary that numbers every term it is asked for."""

    def get(self, term: str) -> int:  # type: ignore[override]
        return self.setdefault(term, len(self))


@dataclass(frozen=True)
class Question:
    """What all tasks of a search share; ``terms`` are those that ``asked`` speaks of."""

    formula: tuple[float, float]
    terms: list[str]
    asked: AskedTerms
    exclude: IdsOfQueries | None
    visible: Flags | None
    mask: Flags | None

    def of_block(self, block: Block) -> tuple[_core.Postings, dict[str, Any]]:
        """The asked postings of a block, and what exists of it for each query."""
        lists = block.file.read(self.terms)
        absent = None if self.exclude is None else self.exclude.within(*block.rows)
        k1, b = self.formula
        try:
            postings = _core.Postings(*lists, k1=k1, b=b)
        except InputError as error:
            raise block.file.damaged(str(error)) from error
        return postings, {
            "exclude_offsets": None if absent is None else absent.offsets,
            "exclude_ids": None if absent is None else absent.ids,
            "visible": _of_block(self.visible, block),
        }


def count_block(question: Question, block: Block, threads: int) -> Counts:
    """What the formula needs to know of the texts of a block."""
    postings, presence = question.of_block(block)
    asked = question.asked
    return postings.count(asked.offsets, asked.terms, **presence, threads=threads)


def search_block(
    shared: tuple[Question, Counts, int], block: Block, threads: int
) -> tuple[Ids, Scores]:
    """The best texts of a block for each query; ids count from its first."""
    question, counts, k = shared
    postings, presence = question.of_block(block)
    mask = _of_block(question.mask, block)
    return postings.search(
        *question.asked, k, **presence, mask=mask, collection=counts, threads=threads
    )


def score_block(
    shared: tuple[Question, Counts], block: Block, threads: int
) -> npt.NDArray[np.float64]:
    """The score of each text of a block for the one query."""
    question, counts = shared
    postings, presence = question.of_block(block)
    del presence["exclude_offsets"]
    return postings.scores(
        question.asked.terms, question.asked.times, **presence, collection=counts
    )


def _of_queries(flags: Flags | None, begin: int, end: int) -> Flags | None:
    return flags if flags is None or len(flags) == 1 else flags[begin:end]


def _of_block(flags: Flags | None, block: Block) -> Flags | None:
    return None if flags is None else flags[:, slice(*block.rows)]
