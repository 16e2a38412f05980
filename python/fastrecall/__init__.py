"""fastrecall: measure, and then serve, how well a project's past is recalled.

Given a symptom (the title of an issue), does the memory bring back the change that fixed it?
Names load on first use, so that importing the package costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fastrecall.corpus import load_corpus, write_dataset
    from fastrecall.dataset import VectorDataset, VectorWriter
    from fastrecall.embedding import embed
    from fastrecall.embedding.stream import embed_to_dataset
    from fastrecall.graph import Graph
    from fastrecall.measure.intervals import wilson
    from fastrecall.search.answer import ask
    from fastrecall.search.exact import ExactIndex
    from fastrecall.search.fuse import rrf
    from fastrecall.search.hnsw import HNSW
    from fastrecall.search.index.build import build_index
    from fastrecall.search.index.opening import open_index
    from fastrecall.study import Record, evaluate

_HOMES = {
    "HNSW": "fastrecall.search.hnsw",
    "ExactIndex": "fastrecall.search.exact",
    "Graph": "fastrecall.graph",
    "Record": "fastrecall.study",
    "VectorDataset": "fastrecall.dataset",
    "VectorWriter": "fastrecall.dataset",
    "ask": "fastrecall.search.answer",
    "build_index": "fastrecall.search.index.build",
    "embed": "fastrecall.embedding",
    "embed_to_dataset": "fastrecall.embedding.stream",
    "evaluate": "fastrecall.study",
    "load_corpus": "fastrecall.corpus",
    "open_index": "fastrecall.search.index.opening",
    "rrf": "fastrecall.search.fuse",
    "wilson": "fastrecall.measure.intervals",
    "write_dataset": "fastrecall.corpus",
}

__all__ = [
    "HNSW",
    "ExactIndex",
    "Graph",
    "Record",
    "VectorDataset",
    "VectorWriter",
    "ask",
    "build_index",
    "embed",
    "embed_to_dataset",
    "evaluate",
    "load_corpus",
    "open_index",
    "rrf",
    "wilson",
    "write_dataset",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from fastrecall import _core

        return _core.__version__
    if name not in _HOMES:
        raise AttributeError(f"module 'fastrecall' has no attribute {name!r}")
    home = importlib.import_module(_HOMES[name])
    value = globals()[name] = getattr(home, name)
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
