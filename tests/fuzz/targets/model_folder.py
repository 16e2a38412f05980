"""A folder of an embedding model that somebody exported. An input is a JSON object.

Keys with a dot name files of the folder: an object stands for JSON (of ``tokenizer.json``: keys
that replace those of a small whole one), a text for the file as it is. ``graph`` names one of
`GRAPHS`, ``digests`` is what the cache remembers of files, and with ``hub``, the note on a
download, the folder is one that was downloaded.
"""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from tests.fuzz.common import empty_folder, expected_errors, must_hold
from tests.fuzz.mutate import json_text as mutate

from fastrecall._checked import sealed
from fastrecall.embedding import embed, resolve_model
from fastrecall.embedding.models import CONFIG_FILES, MANIFEST, hub_folder, model_digest
from fastrecall.embedding.onnx import load_encoder

__all__ = ["mutate", "run"]

TEXTS = ["a b", "", "a \ud800 b a b a", "zzz"]
TOKENS, DIM = 6, 4
TOKENIZER: dict[str, Any] = {
    "version": "1.0",
    "truncation": None,
    "padding": None,
    "added_tokens": [],
    "normalizer": None,
    "pre_tokenizer": {"type": "Whitespace"},
    "post_processor": {
        "type": "TemplateProcessing",
        "single": [
            {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
            {"Sequence": {"id": "A", "type_id": 0}},
        ],
        "pair": [],
        "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]}},
    },
    "decoder": None,
    "model": {
        "type": "WordLevel",
        "vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "a": 3, "b": 4},
        "unk_token": "[UNK]",
    },
}
HUB = {"model": "model.onnx", "tokenizer": "tokenizer.json"}


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number % 128 + 128)
        number //= 128
    return bytes((*out, number))


def field(number: int, value: int | str | bytes) -> bytes:
    """A field of a Protocol Buffers message, as which ONNX files are written."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


FLOAT, INT32, INT64, STRING, DOUBLE = 1, 6, 7, 8, 11


def graph(
    *,
    kind: int = FLOAT,
    weights: list[float] | None = None,
    given: str = "input_ids",
    given_kind: int = INT64,
    operator: str = "Gather",
    output: int | None = None,
) -> bytes:
    """A model that looks its tokens up in a table: ``[texts, tokens]`` to ``[…, DIM]``."""
    values = weights or [1.0 + 0.1 * at for at in range(TOKENS * DIM)]
    table = field(1, TOKENS) + field(1, DIM) + field(2, kind) + field(8, "table")
    if kind == STRING:
        table += b"".join(field(6, str(value)) for value in values)
    else:
        table += field(9, struct.pack(f"<{len(values)}{'d' if kind == DOUBLE else 'f'}", *values))
    inputs = ("table", given) if operator == "Gather" else (given,)
    node = b"".join(field(1, name) for name in inputs) + field(2, "states") + field(4, operator)
    words = field(1, given_kind) + field(
        2, field(1, field(2, "texts")) + field(1, field(2, "tokens"))
    )
    ends = field(1, given) + field(2, field(1, words))
    states = field(1, "states") + field(2, field(1, field(1, output or kind)))
    whole = field(1, node) + field(2, "g") + field(5, table) + field(11, ends) + field(12, states)
    return field(1, 8) + field(7, whole) + field(8, field(1, "") + field(2, 17))


GRAPHS = {
    "plain": graph(),
    "double": graph(kind=DOUBLE),
    "words": graph(kind=STRING),
    "zero": graph(weights=[0.0] * TOKENS * DIM),
    "nan": graph(weights=[float("nan")] * TOKENS * DIM),
    "two dimensions": graph(operator="Identity", output=INT64),
    "small numbers": graph(given_kind=INT32),
    "another input": graph(given="pixels"),
    "another operator": graph(operator="Nothing"),
}


def write(path: Path, given: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(given, str):
        path.write_text(given, encoding="utf-8", errors="surrogatepass")
    else:
        path.write_text(json.dumps(given))


def run(data: bytes) -> None:
    try:
        given = json.loads(data)
    except (ValueError, RecursionError):
        return
    if isinstance(given, dict):
        cache = empty_folder("cache")
        with patch.dict(os.environ, FASTRECALL_CACHE=str(cache)):
            check(given, cache)
        load_encoder.cache_clear()


def check(given: dict[str, Any], cache: Path) -> None:
    folder = hub_folder("a/b") if "hub" in given else empty_folder("model")
    for name in CONFIG_FILES:
        if name in given:
            write(folder / name, given[name])
    words = given.get("tokenizer.json", {})
    write(folder / "tokenizer.json", TOKENIZER | words if isinstance(words, dict) else words)
    name = given.get("graph")
    (folder / "model.onnx").write_bytes(
        GRAPHS.get(name, b"") if isinstance(name, str) else GRAPHS["plain"]
    )
    digests = given.get("digests")
    if isinstance(digests, dict):
        # Of these files, as they are: what else stands there is believed.
        stamps = {}
        for key, value in digests.items():
            path = folder / key if "\0" not in key and key.isascii() else folder
            if path.is_file() and isinstance(value, list):
                stat = path.stat()
                stamp = [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino]
                value = [*stamp, *value]
            stamps[str(folder / key)] = value
        digests = sealed(stamps)
    if digests is not None:
        write(cache / "digests.json", digests)
    if "hub" in given:
        note = given["hub"]
        if isinstance(note, dict):
            fitting = {part: model_digest(folder / file) for part, file in HUB.items()}
            note = {"id": "a/b", "revision": "r", **HUB, "sha256": fitting} | note
        write(folder / MANIFEST, note)
    with expected_errors():
        model = resolve_model("a/b" if "hub" in given else folder)
        must_hold(model.dim >= 0 and model.max_tokens >= 1, "dim or tokens")
        must_hold(model.pooling in ("mean", "cls"), "pooling")
        for path in (model.path, model.tokenizer):
            must_hold(path and path.resolve().parent == folder.resolve(), "a file elsewhere")
        json.dumps(model.as_dict(), allow_nan=False)
        for texts in (TEXTS[:1], TEXTS):
            with expected_errors():
                vectors = embed(texts, model=model.name, cache=False, threads=1)
                must_hold(vectors.shape == (len(texts), model.dim or DIM), "shape")
                norms = np.linalg.norm(vectors, axis=1)
                must_hold(vectors.dtype == np.float32 and np.allclose(norms, 1, atol=1e-3), "norm")
    with expected_errors():
        again = resolve_model("a/b" if "hub" in given else folder)
        must_hold(digests is not None or again == model, "another model the second time")
