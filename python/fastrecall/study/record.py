"""One evaluation as a document: kept, read back, printed, compared (DESIGN §4 "Record")."""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fastrecall import _json
from fastrecall._checked import DIGEST, digest_of
from fastrecall._files import atomic_write
from fastrecall.errors import RecordError
from fastrecall.report.code_markdown import render_code_markdown
from fastrecall.report.code_table import is_code, render_code
from fastrecall.report.markdown import render_markdown
from fastrecall.report.table import render
from fastrecall.report.whole import whole
from fastrecall.study.compare import compare

SCHEMA = 1


class Record(Mapping[str, Any]):
    """One evaluation; a read-only mapping with the keys of DESIGN §4.

    On disk a digest of all keys but ``timings`` stands in front: a damaged number is noticed.

    >>> record = Record({"schema": 1, "queries": [], "timings": {"total": 1.5}})
    >>> record["schema"]
    1
    """

    def __init__(self, data: Mapping[str, Any], *, path: Path | None = None) -> None:
        self._data = {key: value for key, value in data.items() if key != DIGEST}
        self.path = path
        """The file that it was read from; None: it was just made."""

    def __getitem__(self, key: str) -> Any:
        return self._data[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def to_json(self, *, timings: bool = True) -> str:
        """The document as JSON: a line a key, and a line a query.

        Without ``timings`` two runs with the same input and settings give the same bytes.
        """
        parts = []
        with whole(self):
            for key, value in {DIGEST: _digest(self._data), **self._data}.items():
                if key == "timings" and not timings:
                    continue
                if key == "queries" and value:
                    body = "[\n" + ",\n".join(_dumps(row) for row in value) + "\n]"
                else:
                    body = _dumps(value)
                parts.append(f"{_dumps(key)}: {body}")
        return _encodable("{\n" + ",\n".join(parts) + "\n}\n")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the document to *path*; the file appears whole or not at all."""
        with atomic_write(path) as file:
            file.write(self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Record:
        """Read a document that `save` wrote.

        Raises:
            RecordError: no such file, not JSON, not a record, or of a newer schema.
        """
        try:
            data = _json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise RecordError(f"cannot read record {path}: {error.strerror}") from error
        except ValueError as error:
            raise RecordError(
                f"{path} is not a record: not JSON ({error}); expected a file that "
                "'fastrecall eval --out' (or code-eval) wrote"
            ) from error
        if not isinstance(data, dict) or "schema" not in data or "protocols" not in data:
            raise RecordError(
                f"{path} is not a record: it has no 'schema' and 'protocols'; expected a file "
                "that 'fastrecall eval --out' (or code-eval) wrote"
            )
        if data["schema"] != SCHEMA:
            raise RecordError(
                f"{path} has schema {data['schema']!r}; this version reads schema {SCHEMA}; "
                "make the record anew"
            )
        record = cls(data, path=Path(path))
        with whole(record):
            fits = data.get(DIGEST) in (None, _digest(data))
        if not fits:
            raise RecordError(
                f"{path} is not the record that was written (its digest does not fit): it was "
                f"damaged, or changed by hand; make it anew, or take {DIGEST!r} out to use it as "
                "it is"
            )
        return record

    def table(self, *, width: int | None = None, color: bool = False, misses: bool = False) -> str:
        """The record as tables of text, *width* columns wide (100 unless said).

        A record of code search lists its misses when asked.
        """
        width = width or 100
        with whole(self):
            if is_code(self):
                return render_code(self._data, width=width, color=color, misses=misses)
            return render(self._data, width=width, color=color)

    def markdown(self) -> str:
        """The record as tables in GitHub's Markdown."""
        with whole(self):
            return (render_code_markdown if is_code(self) else render_markdown)(self._data)

    def compare(self, other: Mapping[str, Any], *, anyway: bool = False) -> dict[str, Any]:
        """How *other* differs from this record; see `fastrecall.study.compare.compare`."""
        with whole(self, other):
            return compare(self, other, anyway=anyway)


def _encodable(text: str) -> str:
    r"""JSON text that UTF-8 can hold: half a character, as in names of files, is escaped.

    >>> _encodable('"caf\udce9"') == r'"caf\udce9"'
    True
    """
    return re.sub("[\ud800-\udfff]", lambda match: f"\\u{ord(match[0]):04x}", text)


def _digest(data: Mapping[str, Any]) -> str:
    """What proves a record: all of it but the timings, which differ from run to run."""
    proven = {key: value for key, value in data.items() if key not in (DIGEST, "timings")}
    return digest_of(proven, allow_nan=False)


# NaN is not JSON: every number that may be missing is written as null.
_dumps = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def versions() -> dict[str, str]:
    """Versions of what made a record; nothing that names the machine or its user."""
    import numpy as np

    from fastrecall import _core

    return {
        "fastrecall": _core.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "isa": _core.isa(),
    }
