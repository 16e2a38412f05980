"""Exchanges with a language model on disk: a cache, and files to record and replay a run."""

from __future__ import annotations

import json
import os
from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fastrecall import _json
from fastrecall._checked import sealed, unsealed
from fastrecall._files import atomic_write
from fastrecall.errors import InputError
from fastrecall.search.llm import Exchange


class AnswerCache:
    """Accepted answers by request hash, one small file each; failures are never kept.

    >>> import tempfile
    >>> cache = AnswerCache(Path(tempfile.mkdtemp()))
    >>> cache.put("ab12", Exchange("[1]", output_tokens=3))
    >>> cache.get("ab12").content
    '[1]'
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, key: str) -> Exchange | None:
        """The answer, or ``None``; a damaged file counts as absent and is written anew."""
        try:
            row = _json.loads(self._file(key).read_text(encoding="utf-8"))
            exchange = _exchange(unsealed(row), "cache")
        except (OSError, ValueError):
            return None
        return exchange if exchange.failure is None else None

    def put(self, key: str, exchange: Exchange) -> None:
        """Keep an accepted answer."""
        if exchange.failure is None:
            with atomic_write(self._file(key)) as file:
                json.dump(sealed(asdict(exchange)), file, ensure_ascii=False)

    def _file(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"


class Recording:
    """Exchanges of a run, written as JSON lines in the order of the queries.

    Each line holds ``query``, ``prompt`` (hash of the messages), the fields of `Exchange`, and
    ``cached`` where the answer was not paid for in this run, and ``digest``, by which a damaged
    line is known; lines written by hand do without.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._rows: list[dict[str, Any]] = []

    def add(self, query: str, prompt: str, exchange: Exchange, *, cached: bool) -> None:
        """Append one exchange."""
        row = {"query": query, "prompt": prompt, **asdict(exchange)}
        self._rows.append(row | ({"cached": True} if cached else {}))

    def save(self) -> None:
        """Write the file; it appears whole or not at all."""
        with atomic_write(self.path) as file:
            for row in self._rows:
                file.write(json.dumps(sealed(row), ensure_ascii=False) + "\n")


class Replay:
    """Recorded exchanges, handed out again by query; no server, no key.

    A line needs ``query`` and ``content`` or ``failure``; with ``prompt`` it is for that prompt
    alone, so that a run with other settings or another index cannot pass for the recorded one.

    Raises:
        InputError: names the file, the line and what was expected there.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._rows: defaultdict[str, deque[tuple[int, str | None, Exchange, bool]]]
        self._rows = defaultdict(deque)
        try:
            text = self.path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"cannot read recorded exchanges {self.path}: {error}") from error
        for number, line in enumerate(text.split("\n"), 1):
            if not line.strip():
                continue
            place = f"{self.path}, line {number}"
            try:
                row = _json.loads(line)
            except ValueError as error:
                raise InputError(f"{place}: not JSON: {error}") from error
            if not isinstance(row, dict) or not isinstance(row.get("query"), str):
                raise InputError(f"{place}: expected an object with the text 'query'")
            try:
                row = unsealed(row)
            except ValueError as error:
                raise InputError(
                    f"{place}: not the exchange that was recorded ({error}); record again"
                ) from error
            prompt = row.pop("prompt", None)
            query = row.pop("query")
            cached = row.pop("cached", False) is True
            try:
                self._rows[query].append((number, prompt, _exchange(row, place), cached))
            except ValueError as error:
                raise InputError(str(error)) from error

    def take(self, query: str, prompt: str) -> tuple[Exchange, bool]:
        """The next exchange recorded for *query*, and whether it came from the cache then.

        Raises:
            InputError: none is left, or it answers another prompt.
        """
        if not self._rows[query]:
            raise InputError(f"{self.path} holds no (further) exchange for {query!r}; record again")
        number, recorded, exchange, cached = self._rows[query].popleft()
        if recorded is not None and recorded != prompt:
            raise InputError(
                f"{self.path}, line {number}: recorded for another prompt (the index or a setting "
                f"differs) of {query!r}; record again"
            )
        return exchange, cached


def _exchange(row: Mapping[str, Any], place: str) -> Exchange:
    try:
        exchange = _json.as_instance(Exchange, {"content": None, **row})
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None
    if (exchange.content is None) == (exchange.failure is None):
        raise ValueError(f"{place}: expected either 'content' or 'failure'")
    numbers = exchange.attempts, exchange.input_tokens, exchange.output_tokens, exchange.cost or 0
    if min(numbers) < 0:
        raise ValueError(f"{place}: attempts, tokens and cost must not be below 0")
    return exchange
