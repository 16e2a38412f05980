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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from fastrecall._files import atomic_write
from fastrecall.errors import CorpusError, InputError
from fastrecall.measure.judgments import Judgments
from fastrecall.types import Ids, Scores

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
    for line, fields in _rows(path, _RUN_LINE):
        query, _, doc, _, score, tag = fields
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
    path: _Path, run: Mapping[str, Mapping[str, float]], *, tag: str = "fastrecall"
) -> None:
    """Write rankings as a TREC run; a path that ends in ``.gz`` is compressed.

    Documents are ranked by score, equal scores in the order given. Scores are written strictly
    decreasing (lowered to the next 32-bit float where they tie), so that every reader sees the
    same order.

    Args:
        path: the file; it appears whole or not at all.
        run: ``{query: {document: score}}``. A query with no document cannot be told in this
            format; whoever scores the file takes it as absent, which is 0 as well.
        tag: the name of the system.

    Raises:
        InputError: a name that is empty or holds white space (the format separates fields by it),
            or a score that is no finite 32-bit number.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "run.txt")
    >>> write_run(path, {"q1": {"d1": 1.0, "d0": 2.0}, "q2": {"d1": 0.5}})
    >>> print(path.read_text().strip())
    q1 Q0 d0 1 2 fastrecall
    q1 Q0 d1 2 1 fastrecall
    q2 Q0 d1 1 0.5 fastrecall
    """
    _check_names({tag}, "tag")
    _check_names(run, "query")
    _check_names({doc for found in run.values() for doc in found}, "document")

    def lines() -> Iterator[str]:
        for query, found in run.items():
            docs, scores = _falling(query, found)
            for rank, (doc, score) in enumerate(zip(docs, scores, strict=True), 1):
                yield f"{query} Q0 {doc} {rank} {score:.9g} {tag}\n"

    _write(path, lines())


def write_qrels(path: _Path, qrels: Mapping[str, Mapping[str, int]]) -> None:
    """Write judgments as TREC qrels; a path that ends in ``.gz`` is compressed.

    Args:
        path: the file; it appears whole or not at all.
        qrels: ``{query: {document: grade}}``; grades above 0 are relevant. A query with no
            judgment cannot be told in this format.

    Raises:
        InputError: a name that is empty or holds white space.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "qrels.txt")
    >>> write_qrels(path, {"q1": {"d1": 2, "d0": 0}})
    >>> print(path.read_text().strip())
    q1 0 d1 2
    q1 0 d0 0
    """
    _check_names(qrels, "query")
    _check_names({doc for judged in qrels.values() for doc in judged}, "document")
    _write(
        path,
        (
            f"{query} 0 {doc} {grade:d}\n"
            for query, judged in qrels.items()
            for doc, grade in judged.items()
        ),
    )


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
        start = file.read(2)
    if not start and path.suffix == ".gz":
        raise EOFError("nothing is in it")
    packed = start == _GZIP_MAGIC
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


def _falling(query: str, found: Mapping[str, float]) -> tuple[list[str], list[float]]:
    """Documents best first, with scores that fall strictly as 32-bit floats."""
    with np.errstate(over="ignore"):
        scores = np.array(list(found.values()), np.float64).astype(np.float32)
    if not np.isfinite(scores).all():
        at = int(np.argmin(np.isfinite(scores)))
        doc, score = list(found.items())[at]
        raise InputError(
            f"query '{query}', document '{doc}': the score is {score}; "
            "expected a finite 32-bit number"
        )
    order = np.argsort(-scores, kind="stable")
    scores = scores[order]
    if (np.diff(scores) == 0).any():
        for place in range(1, len(scores)):
            below = np.nextafter(scores[place - 1], np.float32(-np.inf))
            scores[place] = min(scores[place], below)
    docs = list(found)
    return [docs[at] for at in order], scores.tolist()


def _check_names(names: Iterable[str], what: str) -> None:
    for name in names:
        if name.split() != [name] or name.startswith(_BOM.decode()):
            raise InputError(
                f"the {what} name {name!r} is empty, begins with a byte order mark or holds white "
                "space, which separates the fields of a TREC file; use names such as "
                "'owner/name#12'"
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
