"""JSON is read record by record, in bounded memory, and damage is named."""

from __future__ import annotations

import contextlib
import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.corpus.builders import record

from fastrecall.corpus import _json
from fastrecall.corpus._json import stream_records
from fastrecall.errors import CorpusError

RECORDS = [record(number, body="x" * number) for number in range(1, 8)]


def write(folder: Path, data: bytes, name: str = "prs.json") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def refusal(folder: Path, data: bytes) -> str:
    path = write(folder, data)
    with pytest.raises(CorpusError) as caught:
        list(stream_records(path))
    message = str(caught.value)
    assert str(path) in message
    assert len(message) < 300 + len(str(path))
    return message


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("packed", [False, True])
def test_arrays_of_any_dress(
    tmp_path: Path, indent: int | None, encoding: str, packed: bool
) -> None:
    data = json.dumps(RECORDS, indent=indent, ensure_ascii=False).encode(encoding)
    path = write(tmp_path, gzip.compress(data) if packed else data)
    assert list(stream_records(path)) == RECORDS


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n", " "])
def test_json_lines_and_several_arrays(tmp_path: Path, end: str) -> None:
    lines = "".join(json.dumps(one) + end for one in RECORDS)
    assert list(stream_records(write(tmp_path, lines.encode()))) == RECORDS
    pages = json.dumps(RECORDS[:3]) + end + "[]" + end + json.dumps(RECORDS[3:])
    assert list(stream_records(write(tmp_path, pages.encode()))) == RECORDS


@pytest.mark.parametrize("chunk", [1, 2, 7, 100])
def test_records_that_are_cut_by_a_chunk(
    tmp_path: Path, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_json, "_CHUNK", chunk)
    odd = [*RECORDS, record(9, title='\ud83d\ude00 "\\" \ud800', body="тест\u2028", n=-1.5e-30)]
    escaped = json.dumps(odd).encode()
    assert list(stream_records(write(tmp_path, escaped))) == json.loads(escaped)
    plain = json.dumps([*RECORDS, record(9, title="😀")], ensure_ascii=False).encode()
    assert list(stream_records(write(tmp_path, plain))) == json.loads(plain)


def test_bytes_that_are_no_utf8_come_out_as_lone_surrogates(tmp_path: Path) -> None:
    path = write(tmp_path, b'[{"title": "a\xff"}]')
    assert list(stream_records(path)) == [{"title": "a\udcff"}]


def test_an_empty_array_and_an_empty_file(tmp_path: Path) -> None:
    assert list(stream_records(write(tmp_path, b" [ ] \n"))) == []
    assert list(stream_records(write(tmp_path, b""))) == []


@settings(deadline=None)
@given(st.integers(1, 10_000), st.sampled_from(["plain", "indented", "lines"]))
def test_a_cut_file_is_refused_or_shorter(
    tmp_path_factory: pytest.TempPathFactory, keep: int, form: str
) -> None:
    lines = "\n".join(map(json.dumps, RECORDS))
    whole = lines if form == "lines" else json.dumps(RECORDS, indent=form == "indented" or None)
    data = whole[: keep % len(whole)]
    path = write(tmp_path_factory.getbasetemp(), data.encode())
    seen = []
    message = ""
    try:
        seen.extend(stream_records(path))
    except CorpusError as error:
        message = str(error)
    assert seen == RECORDS[: len(seen)]
    if message:
        assert "cut short" in message or "not valid JSON" in message
    else:
        assert form == "lines" or not data


def test_the_record_where_the_damage_is_gets_named(tmp_path: Path) -> None:
    data = json.dumps(RECORDS).replace('"Title 3"', "Title 3").encode()
    message = refusal(tmp_path, data)
    assert "record 3: not valid JSON at character" in message
    position = int(message.split("character ")[1].split(" ")[0])
    assert data[position - 1 :].startswith(b"Title 3")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"<html>", "starts with '<html>'"),
        (b"HTTP 502: Bad Gateway", "starts with 'HTTP 502"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "starts with"),
        (b"5", "starts with '5'"),
        (b'"prs"', "a JSON array of tickets was expected"),
        (b"[1, 2]", "record 1: starts with '1, 2]'"),
        (b'[{"number": 1}, null]', "record 2: starts with 'null]'"),
        (b"[[]]", "record 1"),
        (b'[{"number": 1} {"number": 2}]', "expected ',' or ']'"),
        (b'[{"number": 1},]', "record 2: starts with ']'"),
        (b"[{]", "record 1: not valid JSON"),
        (b'[{"number": 1}', "cut short"),
        (b'[{"number": 1},', "cut short"),
        (b"[", "cut short"),
        (b'[{"title": "abc', "in the middle of record 1"),
        (b'{"number": 1', "cut short"),
        (b'[{"title": "a\nb"}]', "Invalid control character"),
        (b'[{"a":' + b"[" * 200_000, "nested too deeply"),
        (b'[{"a": ' + b"1" * 5000 + b"}]", "thousands of digits"),
        (b"\xff\xfea", "not valid utf-16"),
    ],
)
def test_what_is_no_array_of_records_is_refused(tmp_path: Path, data: bytes, words: str) -> None:
    assert words in refusal(tmp_path, data)


def test_a_cut_or_damaged_gzip_file_is_named(tmp_path: Path) -> None:
    packed = gzip.compress(json.dumps(RECORDS * 50).encode())
    assert "gzip" in refusal(tmp_path, packed[:-20])
    damaged = bytearray(packed)
    damaged[len(damaged) // 2] ^= 0xFF
    message = refusal(tmp_path, bytes(damaged))
    assert "gzip" in message or "JSON" in message


def test_a_text_without_end_does_not_fill_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_json, "_CHUNK", 1000)
    monkeypatch.setattr(_json, "_LONGEST_RECORD", 100_000)
    assert "without its closing quote" in refusal(tmp_path, b'[{"title": "' + b"x" * 1_000_000)


def test_a_folder_or_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="cannot read"):
        list(stream_records(tmp_path / "none.json"))
    with pytest.raises(CorpusError, match="cannot read"):
        list(stream_records(tmp_path))


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_junk_is_never_anything_but_refused(
    tmp_path_factory: pytest.TempPathFactory, junk: bytes
) -> None:
    path = write(tmp_path_factory.getbasetemp(), junk)
    with contextlib.suppress(CorpusError):
        assert all(isinstance(one, dict) for one in stream_records(path))


READ_AND_MEASURE = """
import re, sys
from fastrecall.corpus import load_corpus
corpus = load_corpus(sys.argv[1])
assert corpus.cut.read_prs == 27_000 and corpus.cut.read_issues == 13_000, corpus.cut
# The peak since the program began; getrusage would count the parent before exec, too.
peak = re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]
print(len(corpus), peak)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_forty_thousand_long_tickets_stay_below_a_gigabyte(tmp_path: Path) -> None:
    # An emoji makes Python hold four bytes for every character of a text: 1.2 GB for all of these.
    body = json.dumps("длинное описание 😀 " * 400, ensure_ascii=False)
    for name, first, count in (("issues", 1, 13_000), ("prs", 20_001, 27_000)):
        with gzip.open(tmp_path / f"{name}.json.gz", "wt", 1, encoding="utf-8") as file:
            file.write("[")
            for number in range(first, first + count):
                moment = 1_600_000_000 + (number * 7919) % 1_000_003
                comma = "," if number > first else ""
                file.write(f'{comma}{{"number":{number},"createdAt":{moment},"body":{body}}}')
            file.write("]")
    run = subprocess.run(
        [sys.executable, "-c", READ_AND_MEASURE, str(tmp_path)],
        capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    nodes, kilobytes = map(int, run.stdout.split())
    assert nodes == 19_000
    assert kilobytes < 1_000_000, kilobytes
