"""The encoder against the slow way, on real texts and awkward sizes."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.children import environment
from tests.oracles.embedding import mean_pooled

import fastrecall.embedding as fe
from fastrecall.embedding import onnx

CORPORA = Path(__file__).parents[2].parent / "shared" / "corpora"
MADE_UP = ["", "a", " ", "\n\n", "a" * 600, "слово " * 300, "词" * 300, "🎉" * 90, "x\0y", "#1"]


def truth(texts: list[str]) -> np.ndarray:
    model = fe.resolve_model(cache=False)
    return mean_pooled(str(model.path), str(model.tokenizer), texts, max_tokens=model.max_tokens)


def test_made_up_texts() -> None:
    np.testing.assert_allclose(fe.embed(MADE_UP, cache=False), truth(MADE_UP), atol=1e-5)


def test_real_texts() -> None:
    file = CORPORA / "mls-protocol" / "issues.json.gz"
    if not file.exists():
        pytest.skip(f"needs {file}")
    tickets = json.loads(gzip.decompress(file.read_bytes()))[:30]
    texts = [f"{ticket['title'][:120]}\n{(ticket['body'] or '')[:300]}" for ticket in tickets]
    np.testing.assert_allclose(fe.embed(texts, cache=False), truth(texts), atol=1e-5)


@pytest.mark.parametrize("budget", [1, 40, 100_000])
def test_vectors_do_not_depend_on_how_texts_are_batched(
    budget: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"{'queue ' * (n % 17)}{n}" for n in range(70)]
    expected = fe.embed(texts, cache=False)
    monkeypatch.setattr(onnx, "TOKEN_BUDGET", budget)
    monkeypatch.setattr(onnx, "_TEXTS_TOKENISED_AT_ONCE", 9)
    assert np.array_equal(fe.embed(texts, cache=False), expected)


def test_batches_keep_the_budget_and_cover_every_text_once() -> None:
    encoder = onnx.OnnxEncoder(fe.resolve_model(cache=False), threads=2)
    texts = [f"{'queue ' * (n * 7 % 90)}{n}" for n in range(100)]
    batches = list(encoder.batches(texts))
    rows = np.concatenate([batch.rows for batch in batches])
    assert sorted(rows.tolist()) == list(range(100))
    for batch in batches:
        assert batch.padded <= onnx.TOKEN_BUDGET or len(batch.rows) == 1
        assert batch.tokens <= batch.padded
    padded, tokens = (sum(getattr(b, name) for b in batches) for name in ("padded", "tokens"))
    assert padded < 1.25 * tokens


def test_a_generator_left_early_stops_its_threads() -> None:
    encoder = onnx.OnnxEncoder(fe.resolve_model(cache=False), threads=2)
    batches = encoder.batches([f"text {n}" for n in range(500)])
    next(batches)
    batches.close()
    assert len(list(encoder.batches(["still works"]))) == 1


def test_nothing_is_written_down_for_or_sent_to_the_maker_of_the_runtime(tmp_path: Path) -> None:
    code = "import fastrecall as fr; fr.embed(['a'], cache=False)"
    variables = {
        name: text for name, text in environment().items() if not name.startswith(("ORT_", "XDG_"))
    }
    places = {name: str(tmp_path) for name in ("HOME", "USERPROFILE", "LOCALAPPDATA")}
    subprocess.run([sys.executable, "-c", code], check=True, env=variables | places)
    assert list(tmp_path.rglob("*")) == []
