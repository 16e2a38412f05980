"""JSON records one by one, from files of any size.

Understands an array of objects (what ``gh … --json`` writes), several arrays or objects one after
another (``gh api --paginate``, JSON lines), plain or gzip, UTF-8 or UTF-16 with a byte order mark.
"""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from fastrecall.errors import CorpusError

_CHUNK = 1 << 18
_LONGEST_RECORD = 1 << 26
"""Characters; bounds what an unterminated string can make us hold."""

_LONGEST_TOKEN = 12
"""A decoding error this near to the end of what was read may only mean that more must be read:
the longest thing that can be cut in two is an escaped surrogate pair."""

_SPACE = " \t\r\n"


def stream_records(path: Path) -> Iterator[dict[str, Any]]:
    """The objects in a JSON or JSON lines file, in order, with bounded memory.

    Bytes that are not valid UTF-8 come out as lone surrogates, as broken ``\\u`` escapes do, so
    that one later step can mend both.

    Raises:
        CorpusError: the file cannot be opened, is cut, is damaged, or holds something else.
    """
    try:
        with path.open("rb") as raw, _as_text(raw) as text:
            yield from _Scanner(path, text).records()
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise CorpusError(
            f"{path}: the gzip stream is damaged or cut ({error}); fetch or compress it again"
        ) from error
    except UnicodeDecodeError as error:
        raise CorpusError(
            f"{path}: not valid {error.encoding} at byte {error.start}; save the file as UTF-8"
        ) from error
    except OSError as error:
        raise CorpusError(f"cannot read {path}: {error.strerror or error}") from error


def _as_text(raw: BinaryIO) -> io.TextIOWrapper:
    """Unpack and decode by what the first bytes say, whatever the file is called."""
    stream = raw
    if _peek(raw)[:2] == b"\x1f\x8b":
        stream = cast("BinaryIO", io.BufferedReader(gzip.GzipFile(fileobj=raw)))
    start = _peek(stream)
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return io.TextIOWrapper(stream, encoding="utf-16", newline="")
    return io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")


def _peek(stream: BinaryIO) -> bytes:
    return cast("io.BufferedReader", stream).peek(4)


class _Scanner:
    """Walks over the text; ``buffer[at:]`` is what has been read and not yet used."""

    def __init__(self, path: Path, text: io.TextIOWrapper) -> None:
        self.path = path
        self.text = text
        self.buffer = ""
        self.at = 0
        self.passed = 0
        self.ended = False
        self.record = 0
        self.decode = json.JSONDecoder().raw_decode

    def records(self) -> Iterator[dict[str, Any]]:
        while (mark := self.peek()) is not None:
            if mark == "[":
                self.at += 1
                yield from self.array()
            elif mark == "{":
                yield self.object()
            else:
                raise self.wrong_shape()

    def array(self) -> Iterator[dict[str, Any]]:
        if self.peek() == "]":
            self.at += 1
            return
        while True:
            mark = self.peek()
            if mark is None:
                raise self.cut()
            if mark != "{":
                raise self.not_an_object()
            yield self.object()
            mark = self.peek()
            if mark is None:
                raise self.cut()
            self.at += 1
            if mark == "]":
                return
            if mark != ",":
                raise self.damaged("expected ',' or ']' after a record", self.at - 1)

    def object(self) -> dict[str, Any]:
        self.record += 1
        while (value := self.try_decode()) is None:
            if self.ended:
                raise self.cut()
            if len(self.buffer) - self.at > _LONGEST_RECORD:
                raise self.unusable(
                    f"longer than {_LONGEST_RECORD >> 20} million characters, or a text without "
                    "its closing quote"
                )
            self.fill()
        return value

    def try_decode(self) -> dict[str, Any] | None:
        """The object that starts here, or None when its end has not been read yet."""
        try:
            value, self.at = self.decode(self.buffer, self.at)
        except json.JSONDecodeError as error:
            if error.msg.startswith("Unterminated string"):
                return None
            nearest = len(self.buffer.rstrip()) if self.ended else len(self.buffer) - _LONGEST_TOKEN
            if error.pos >= nearest:
                return None
            raise self.damaged(error.msg, error.pos) from None
        except RecursionError:
            raise self.unusable("nested too deeply to be a ticket") from None
        except ValueError:
            raise self.unusable("holds a number with thousands of digits") from None
        return cast("dict[str, Any]", value)

    def peek(self) -> str | None:
        """The next character that is not white space, without using it; None at the end."""
        while True:
            while self.at < len(self.buffer):
                mark = self.buffer[self.at]
                if mark not in _SPACE:
                    return mark
                self.at += 1
            if self.ended:
                return None
            self.fill()

    def fill(self) -> None:
        """Read on; as much again as is held, so that a long record costs linear time."""
        held = self.buffer[self.at :]
        self.passed += self.at
        chunk = self.text.read(max(_CHUNK, len(held)))
        self.ended = not chunk
        self.buffer, self.at = held + chunk, 0

    def cut(self) -> CorpusError:
        return CorpusError(
            f"{self.path}: ends in the middle of record {max(self.record, 1)}, so the file is cut "
            "short; fetch or copy it again"
        )

    def damaged(self, what: str, position: int) -> CorpusError:
        return CorpusError(
            f"{self.path}, record {max(self.record, 1)}: not valid JSON at character "
            f"{self.passed + position + 1} ({what}); fetch or copy the file again"
        )

    def unusable(self, what: str) -> CorpusError:
        return CorpusError(f"{self.path}, record {self.record}: {what}; export the file again")

    def not_an_object(self) -> CorpusError:
        shown = ascii(self.buffer[self.at : self.at + 20])
        return CorpusError(
            f"{self.path}, record {self.record + 1}: starts with {shown}; "
            "expected an object with number, createdAt, title and body"
        )

    def wrong_shape(self) -> CorpusError:
        shown = ascii(self.buffer[self.at : self.at + 20])
        return CorpusError(
            f"{self.path}: starts with {shown} where a JSON array of tickets was expected; "
            "write it with `gh pr list --state all --limit 24000 --json "
            "number,createdAt,author,title,body`"
        )
