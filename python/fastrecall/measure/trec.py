"""TREC files: runs (what a system returned) and qrels (what was right).

A run has six fields a line, ``qid Q0 docno rank score tag``, a qrels file four, ``qid iteration
docno grade``, separated by blanks or tabs (https://trec.nist.gov/data/qrels_eng). Files may be
gzip-compressed. Runs are ordered as trec_eval orders them, whatever the rank column and the order
of the lines say: by score as a 32-bit float, highest first, and equal scores by docno, descending.
"""

from __future__ import annotations

import gzip
import math
import os
import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from fastrecall._files import atomic_write
from fastrecall.errors import CorpusError, InputError
from fastrecall.measure.judgments import Judgments
from fastrecall.types import Ids, Rankings, Scores

_Path: TypeAlias = str | os.PathLike[str]

_RUN_LINE = "qid Q0 docno rank score tag"
_QRELS_LINE = "qid iteration docno grade"
_GZIP_MAGIC = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_NO_GRADE = 2**31


@dataclass(frozen=True)
class Run:
    """A ranking for each query, as compressed rows in the order of trec_eval.

    Query ``q`` returned ``ids[offsets[q]:offsets[q + 1]]``, numbers of ``docs``, best first.
    ``unsorted_line`` is the first line whose score is above that of the query's line before: a
    hint that the writer meant another order than the scores say.
    """

    queries: tuple[str, ...]
    docs: tuple[str, ...]
    offsets: npt.NDArray[np.int64]
    ids: Ids
    scores: Scores
    tag: str
    unsorted_line: int | None


@dataclass(frozen=True)
class Qrels:
    """Judgments with the names of their queries and documents."""

    queries: tuple[str, ...]
    docs: tuple[str, ...]
    judgments: Judgments


def read_run(path: _Path) -> Run:
    """Read a TREC run.

    Raises:
        CorpusError: names the file and the line: a wrong number of fields, a score that is no
            finite number, a document that a query returned twice, text that is not UTF-8.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "run.txt")
    >>> _ = path.write_text("q1 Q0 d1 1 0.5 demo\\nq1 Q0 d2 2 0.5 demo\\n")
    >>> run = read_run(path)
    >>> [run.docs[i] for i in run.ids]
    ['d2', 'd1']
    """
    table = _Table(path)
    scores = array("d")
    tag = b""
    for line, (query, _, doc, _, score, tag) in _rows(path, _RUN_LINE):  # noqa: B007
        table.add(line, query, doc)
        scores.append(_finite(score, path, line))
    queries, docs, rows, ids = table.finish()
    # trec_eval keeps scores as C floats; what differs only beyond 24 bits is a tie there.
    with np.errstate(over="ignore"):
        values = np.array(scores, np.float64).astype(np.float32)
    order = np.lexsort((-ids, -values, rows))
    offsets = np.zeros(len(queries) + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=len(queries)), out=offsets[1:])
    return Run(
        queries,
        docs,
        offsets,
        ids[order],
        values[order],
        tag.decode("utf-8", "replace"),
        _first_rise(rows, values, table.lines),
    )


def read_qrels(path: _Path) -> Qrels:
    """Read TREC relevance judgments; grades above 0 are relevant.

    Raises:
        CorpusError: names the file and the line: a wrong number of fields, a grade that is no
            whole number, a document judged twice for a query, text that is not UTF-8, no line.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "qrels.txt")
    >>> _ = path.write_text("q1 0 d1 2\\nq1 0 d2 0\\n")
    >>> read_qrels(path).judgments.grades
    array([2], dtype=int32)
    """
    table = _Table(path)
    grades = array("q")
    for line, (query, _, doc, grade) in _rows(path, _QRELS_LINE):
        table.add(line, query, doc)
        grades.append(_whole(grade, path, line))
    queries, docs, rows, ids = table.finish()
    if not queries:
        raise CorpusError(f"{path}: no judgment in the file; expected lines '{_QRELS_LINE}'")
    judged = Judgments.from_pairs(rows, ids, np.array(grades, np.int64), count=len(queries))
    return Qrels(queries, docs, judged)


def write_run(
    path: _Path,
    rankings: Rankings,
    *,
    queries: Sequence[str],
    docs: Sequence[str],
    tag: str = "fastrecall",
) -> None:
    """Write rankings as a TREC run; a path that ends in ``.gz`` is compressed.

    The order of the ranking rules: scores are written strictly decreasing (lowered to the next
    32-bit float where they tie or rise), so that every reader sees the same order. Without scores
    the number of the remaining places stands in. Places with -1 are left out.

    Args:
        path: the file; it appears whole or not at all.
        rankings: ids ``[queries, width]`` and scores of the same shape, or none.
        queries: a name for each row.
        docs: a name for each id.
        tag: the name of the system.

    Raises:
        InputError: names with white space (the format separates fields by it) or not one for each
            row, ids without a name or repeated in a row, scores that are not finite.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "run.txt")
    >>> ids = np.array([[1, 0], [1, -1]], np.int32)
    >>> write_run(path, Rankings(ids), queries=["q1", "q2"], docs=["d0", "d1"])
    >>> print(path.read_text().strip())
    q1 Q0 d1 1 2 fastrecall
    q1 Q0 d0 2 1 fastrecall
    q2 Q0 d1 1 2 fastrecall
    """
    ids = np.asarray(rankings.ids)
    if len(ids) != len(queries):
        raise InputError(f"there are {len(ids)} rankings and {len(queries)} query names")
    if ids.size and ids.max() >= len(docs):
        raise InputError(f"id {ids.max()} has no name; there are {len(docs)} document names")
    ascending = np.sort(ids, axis=1)
    repeated = (np.diff(ascending, axis=1) == 0) & (ascending[:, 1:] >= 0)
    if repeated.any():
        row = int(repeated.any(axis=1).argmax())
        raise InputError(f"the ranking of query '{queries[row]}' holds a document twice")
    _check_names([tag], "tag")
    _check_names(queries, "query")
    _check_names([docs[i] for i in np.unique(ids[ids >= 0])], "document")
    scores = _falling(ids, rankings.scores)

    def lines() -> Iterator[str]:
        for query, row, row_scores in zip(queries, ids, scores, strict=True):
            places = np.flatnonzero(row >= 0)
            found = zip(row[places].tolist(), row_scores[places].tolist(), strict=True)
            for rank, (doc, score) in enumerate(found, 1):
                yield f"{query} Q0 {docs[doc]} {rank} {score:.9g} {tag}\n"

    _write(path, lines())


def write_qrels(
    path: _Path, judgments: Judgments, *, queries: Sequence[str], docs: Sequence[str]
) -> None:
    """Write judgments as TREC qrels; a path that ends in ``.gz`` is compressed.

    A query without a gold item cannot be told in this format and is left out.

    Args:
        path: the file; it appears whole or not at all.
        judgments: gold of each query.
        queries: a name for each query.
        docs: a name for each id.

    Raises:
        InputError: names with white space, or not one for each query and id.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "qrels.txt")
    >>> write_qrels(path, Judgments.from_dicts([{1: 2}]), queries=["q1"], docs=["d0", "d1"])
    >>> path.read_text()
    'q1 0 d1 2\\n'
    """
    if len(judgments) != len(queries):
        raise InputError(f"there are {len(judgments)} judged queries and {len(queries)} names")
    if len(judgments.ids) and judgments.ids.max() >= len(docs):
        raise InputError(
            f"id {judgments.ids.max()} has no name; there are {len(docs)} document names"
        )
    _check_names(queries, "query")
    _check_names([docs[i] for i in np.unique(judgments.ids)], "document")
    items = zip(
        judgments.queries.tolist(), judgments.ids.tolist(), judgments.grades.tolist(), strict=True
    )
    _write(path, (f"{queries[query]} 0 {docs[doc]} {grade}\n" for query, doc, grade in items))


class _Table:
    """The (query, document) columns of a file, names turned into numbers as they come."""

    def __init__(self, path: _Path) -> None:
        self.path = path
        self.lines = array("q")
        self._queries: dict[bytes, int] = {}
        self._docs: dict[bytes, int] = {}
        self._rows = array("q")
        self._ids = array("q")

    def add(self, line: int, query: bytes, doc: bytes) -> None:
        self.lines.append(line)
        self._rows.append(self._queries.setdefault(query, len(self._queries)))
        self._ids.append(self._docs.setdefault(doc, len(self._docs)))

    def finish(
        self,
    ) -> tuple[tuple[str, ...], tuple[str, ...], npt.NDArray[np.int64], Ids]:
        """Query names in file order, document names in byte order, and the two columns."""
        rows = np.array(self._rows, np.int64)
        # Numbered in byte order, documents compare by number as trec_eval compares their names.
        ordered = sorted(self._docs)
        number = np.empty(len(ordered), np.int32)
        number[[self._docs[name] for name in ordered]] = np.arange(len(ordered))
        ids = number[np.array(self._ids, np.int64)]
        self._refuse_repeats(rows, ids)
        return self._decoded(self._queries, rows), self._decoded(ordered, ids), rows, ids

    def _decoded(self, names: Iterable[bytes], column: npt.NDArray[Any]) -> tuple[str, ...]:
        decoded: list[str] = []
        try:
            decoded.extend(name.decode() for name in names)
        except UnicodeDecodeError as error:
            line = self.lines[int((column == len(decoded)).argmax())]
            raise CorpusError(
                f"{self.path}:{line}: {error.object!r} is not UTF-8; convert the file to UTF-8"
            ) from None
        return tuple(decoded)

    def _refuse_repeats(self, rows: npt.NDArray[np.int64], ids: Ids) -> None:
        by_pair = np.lexsort((ids, rows))
        same = (np.diff(rows[by_pair]) == 0) & (np.diff(ids[by_pair]) == 0)
        if same.any():
            # The sort is stable: of two equal pairs the earlier line comes first.
            at = int(same.argmax())
            first, again = self.lines[by_pair[at]], self.lines[by_pair[at + 1]]
            raise CorpusError(
                f"{self.path}:{again}: the same query and document as in line {first}; "
                "expected each pair once"
            )


def _rows(path: _Path, layout: str) -> Iterator[tuple[int, list[bytes]]]:
    """Line numbers and fields; blank lines are passed over."""
    expected = len(layout.split())
    try:
        with _opened(Path(path)) as file:
            for number, line in enumerate(file, 1):
                fields = line.removeprefix(_BOM).split() if number == 1 else line.split()
                if len(fields) == expected:
                    yield number, fields
                elif fields:
                    raise CorpusError(
                        f"{path}:{number}: {len(fields)} fields; "
                        f"expected the {expected} fields '{layout}', separated by blanks"
                    )
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise CorpusError(
            f"{path}: the gzip data is damaged or cut off ({error}); get the file again"
        ) from error
    except OSError as error:
        raise CorpusError(f"cannot read {path}: {error.strerror or error}") from error


def _opened(path: Path) -> IO[bytes]:
    """The file as bytes, unpacked when its first bytes say gzip."""
    with path.open("rb") as file:
        packed = file.read(2) == _GZIP_MAGIC
    return cast("IO[bytes]", gzip.open(path, "rb")) if packed else path.open("rb")


def _finite(text: bytes, path: _Path, line: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise CorpusError(f"{path}:{line}: the score is {_shown(text)}; expected a finite number")
    return value


def _whole(text: bytes, path: _Path, line: int) -> int:
    try:
        value = int(text)
    except ValueError:
        value = _NO_GRADE
    if not -_NO_GRADE < value < _NO_GRADE:
        raise CorpusError(
            f"{path}:{line}: the grade is {_shown(text)}; expected a whole number such as 0 or 1"
        )
    return value


def _shown(text: bytes) -> str:
    return repr(text.decode("utf-8", "replace")[:40])


def _first_rise(rows: npt.NDArray[np.int64], scores: Scores, lines: Sequence[int]) -> int | None:
    """The first line that scores above the line before it of the same query."""
    by_query = np.argsort(rows, kind="stable")
    rises = (np.diff(rows[by_query]) == 0) & (np.diff(scores[by_query]) > 0)
    return int(min(np.asarray(lines)[by_query[1:][rises]])) if rises.any() else None


def _falling(ids: Ids, scores: Scores | None) -> Scores:
    """Scores that fall strictly along each row, as near to the given ones as that allows."""
    if scores is None:
        return np.broadcast_to(np.arange(ids.shape[1], 0, -1, dtype=np.float32), ids.shape)
    falling = np.array(scores, np.float32)
    if falling.shape != ids.shape:
        raise InputError(f"scores have the shape {falling.shape} and ids {ids.shape}")
    if not np.isfinite(falling[ids >= 0]).all():
        raise InputError("scores hold nan or infinity where a document was returned")
    bound = np.full(len(ids), np.inf, np.float32)
    for place in range(ids.shape[1]):
        returned = ids[:, place] >= 0
        column = falling[returned, place]
        column = np.minimum(column, np.nextafter(bound[returned], np.float32(-np.inf)))
        falling[returned, place] = bound[returned] = column
    return falling


def _check_names(names: Iterable[str], what: str) -> None:
    for name in names:
        if name.split() != [name]:
            raise InputError(
                f"the {what} name {name!r} is empty or holds white space, which separates the "
                "fields of a TREC file; use names such as 'owner/name#12'"
            )
        try:
            name.encode()
        except UnicodeEncodeError:
            raise InputError(
                f"the {what} name {name!r} holds a lone surrogate and cannot be written as UTF-8"
            ) from None


def _write(path: _Path, lines: Iterable[str]) -> None:
    if Path(path).suffix != ".gz":
        with atomic_write(path) as file:
            file.writelines(lines)
        return
    # No name and no time in the header: equal content gives equal files.
    with (
        atomic_write(path, binary=True) as file,
        gzip.GzipFile("", "wb", fileobj=cast("IO[bytes]", file), mtime=0) as packed,
    ):
        packed.writelines(line.encode() for line in lines)
