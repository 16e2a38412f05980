"""Every test of this folder has a cache of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

import fastrecall.embedding as fe


@pytest.fixture(autouse=True)
def cache_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "cache"
    monkeypatch.setenv("FASTRECALL_CACHE", str(root))
    return root


@pytest.fixture
def model_folder(tmp_path: Path) -> Path:
    """The embedded model, laid out as a folder that a user may have."""
    embedded = fe.resolve_model(cache=False)
    assert embedded.path is not None
    assert embedded.tokenizer is not None
    folder = tmp_path / "model"
    (folder / "onnx").mkdir(parents=True)
    (folder / "onnx" / "model.onnx").symlink_to(embedded.path)
    (folder / "tokenizer.json").symlink_to(embedded.tokenizer)
    return folder
