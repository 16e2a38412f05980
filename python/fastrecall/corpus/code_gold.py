"""Gold for code search: which lines answer a query.

A CSV file with the columns ``query,result1,result2,result3``; a result reads
``path:start-end:grade``, a higher grade answers better, empty results are left out.
"""

from __future__ import annotations

import csv
import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fastrecall.corpus.code import CodeChunk
from fastrecall.errors import CorpusError

_COLUMNS = ("query", "result1", "result2", "result3")
_RESULT = re.compile(
    r"(?P<path>.+):(?P<start>\d{1,9})-(?P<end>\d{1,9}):(?P<grade>\d{1,9})", re.ASCII
)


@dataclass(frozen=True, slots=True)
class CodeTarget:
    """Lines ``start`` to ``end`` of a file (from 1, inclusive) and how well they answer."""

    path: str
    start: int
    end: int
    grade: int

    def overlaps(self, chunk: CodeChunk) -> bool:
        """Whether the chunk shows at least one of the lines.

        >>> chunk = CodeChunk("a.rs", "rust", (), 40, 90, "")
        >>> CodeTarget("a.rs", 90, 95, 2).overlaps(chunk)
        True
        >>> CodeTarget("a.rs", 91, 95, 2).overlaps(chunk)
        False
        """
        return self.path == chunk.path and self.start <= chunk.end and chunk.start <= self.end

    def __str__(self) -> str:
        return f"{self.path}:{self.start}-{self.end}"


@dataclass(frozen=True, slots=True)
class CodeQuery:
    """A query with its targets, best grade first."""

    text: str
    targets: tuple[CodeTarget, ...]
    line: int

    def first_ranks(self, ranking: Sequence[CodeChunk]) -> tuple[int | None, ...]:
        """For each target the rank (from 1) of the first chunk that overlaps it, or ``None``.

        This is what Hit@k, MRR and Recall@k count: a target is found once or not at all.
        """
        return tuple(
            next((rank for rank, chunk in enumerate(ranking, 1) if target.overlaps(chunk)), None)
            for target in self.targets
        )

    def credited_ranks(self, ranking: Sequence[CodeChunk]) -> tuple[int | None, ...]:
        """For each target the rank (from 1) that is credited with its grade, or ``None``.

        This is what NDCG counts. A chunk is credited with one target, the best that it overlaps
        and that no chunk above was credited with: so no target counts twice, and no ranking can
        score above the ideal one.

        >>> whole = CodeChunk("a.rs", "rust", (), 1, 50, "")
        >>> tail = CodeChunk("a.rs", "rust", (), 30, 50, "")
        >>> query = CodeQuery("q", (CodeTarget("a.rs", 1, 9, 2), CodeTarget("a.rs", 40, 41, 1)), 2)
        >>> query.first_ranks([whole, tail]), query.credited_ranks([whole, tail])
        ((1, 1), (1, 2))
        """
        credited: list[int | None] = [None] * len(self.targets)
        for rank, chunk in enumerate(ranking, 1):
            for place, target in enumerate(self.targets):
                if credited[place] is None and target.overlaps(chunk):
                    credited[place] = rank
                    break
        return tuple(credited)


@dataclass(frozen=True)
class CodeGold:
    """All queries in file order."""

    queries: tuple[CodeQuery, ...]
    origin: str

    def __len__(self) -> int:
        return len(self.queries)

    @cached_property
    def fingerprint(self) -> str:
        """Sha256 of queries and targets: two runs are comparable when it is equal."""
        digest = hashlib.sha256()
        for query in self.queries:
            targets = ",".join(f"{target}:{target.grade}" for target in query.targets)
            digest.update(f"{query.text}\0{targets}\0".encode())
        return digest.hexdigest()

    def absent(self, chunks: Sequence[CodeChunk]) -> tuple[CodeTarget, ...]:
        """Targets that no chunk of the corpus overlaps: another commit, or a skipped file."""
        by_path: dict[str, list[CodeChunk]] = {}
        for chunk in chunks:
            by_path.setdefault(chunk.path, []).append(chunk)
        return tuple(
            target
            for query in self.queries
            for target in query.targets
            if not any(target.overlaps(chunk) for chunk in by_path.get(target.path, ()))
        )


def load_code_gold(path: str | os.PathLike[str]) -> CodeGold:
    """Read a gold file.

    Raises:
        CorpusError: names the file, the line and what was expected there.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "gold.csv"
    >>> _ = file.write_text("query,result1\\nwhere do we retry,src/net.rs:10-20:2\\n")
    >>> str(load_code_gold(file).queries[0].targets[0])
    'src/net.rs:10-20'
    """
    path = Path(path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return CodeGold(tuple(_read(path, file)), origin=path.name)
    except OSError as error:
        raise CorpusError(f"cannot read gold file {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise CorpusError(f"{path} is not UTF-8 (byte {error.start}); save it as UTF-8") from error


def _read(path: Path, file: Iterable[str]) -> list[CodeQuery]:
    rows = csv.reader(file, strict=True)
    queries: list[CodeQuery] = []
    seen: dict[str, int] = {}
    try:
        header = [name.strip() for name in next(rows, [])]
        if header[:2] != ["query", "result1"] or not set(header) <= set(_COLUMNS):
            raise CorpusError(
                f"{path}, line 1: columns are {','.join(header) or 'missing'}; "
                f"expected {','.join(_COLUMNS)}"
            )
        for row in rows:
            line = rows.line_num
            if not any(cell.strip() for cell in row):
                continue
            if len(row) > len(header):
                raise CorpusError(
                    f"{path}, line {line}: {len(row)} cells under {len(header)} columns; "
                    "put a query with commas in double quotes"
                )
            text = row[0].strip()
            if not text:
                raise CorpusError(f"{path}, line {line}: the query is empty")
            if text in seen:
                raise CorpusError(
                    f"{path}, line {line}: the query stands in line {seen[text]} already; "
                    "put its results in one row"
                )
            seen[text] = line
            results = [cell.strip() for cell in row[1:] if cell.strip()]
            if not results:
                raise CorpusError(
                    f"{path}, line {line}: no result; expected at least one path:start-end:grade"
                )
            targets = sorted(
                (_target(path, line, cell) for cell in results), key=lambda target: -target.grade
            )
            queries.append(CodeQuery(text, tuple(targets), line))
    except csv.Error as error:
        raise CorpusError(f"{path}, line {rows.line_num}: not a CSV row: {error}") from error
    if not queries:
        raise CorpusError(f"{path} holds no query; expected rows below {','.join(_COLUMNS)}")
    return queries


def _target(path: Path, line: int, cell: str) -> CodeTarget:
    place = f"{path}, line {line}"
    found = _RESULT.fullmatch(cell)
    if found is None:
        raise CorpusError(f"{place}: result {cell!r}; expected path:start-end:grade")
    start, end, grade = int(found["start"]), int(found["end"]), int(found["grade"])
    if not 1 <= start <= end:
        raise CorpusError(f"{place}: lines {start}-{end}; expected 1 <= start <= end")
    if grade < 1:
        raise CorpusError(f"{place}: grade {grade}; expected 1 or more")
    return CodeTarget(found["path"].removeprefix("./"), start, end, grade)
