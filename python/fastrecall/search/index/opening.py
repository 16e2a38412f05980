"""Open an index, and meanwhile load the model that its questions need."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from fastrecall.embedding import ModelInfo, embed_question, resolve_model
from fastrecall.errors import CacheError, ModelError
from fastrecall.search.index.place import Manifest, read_manifest

if TYPE_CHECKING:
    from fastrecall.search.index.opened import Index

_DEPENDS_ON = ("sha256", "tokenizer_sha256", "dim", "pooling", "max_tokens", "query", "passage")
"""What of a model changes its vectors."""


def open_index(
    folder: str | os.PathLike[str], *, model: str | None = None, threads: int | None = None
) -> Index:
    """Open the index in *folder*; every byte is checked.

    Args:
        folder: what `build_index` wrote to.
        model: the model that questions are embedded with; that of the index when ``None``.
        threads: threads that searches use; all usable cores when ``None``.

    Raises:
        CacheError: there is no index, it is damaged, or it is of another version.
        ModelError: *model* cannot be had, or is another than the index was made with.

    >>> import fastrecall as fr, tempfile
    >>> from fastrecall.search.index.build import build_index
    >>> place = Path(tempfile.mkdtemp())
    >>> _ = build_index(fr.load_corpus("demo"), place, model="fake", cache=False)
    >>> open_index(place)
    Index('demo', 1090 tickets)
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    if manifest is None:
        raise CacheError(f"{folder}: there is no index; build one with: fastrecall index")
    info = _same_model(manifest, model)
    loader = ThreadPoolExecutor(1, thread_name_prefix="fastrecall-model")
    loaded = loader.submit(embed_question, "", info)
    loader.shutdown(wait=False)
    # All else loads while the model does: it is what takes longest.
    from fastrecall.search.index.folder import open_build
    from fastrecall.search.index.opened import Index

    opened, arrays, ann = open_build(folder)
    if opened.build != manifest.build:  # replaced since; its model may be another
        return open_index(folder, model=model, threads=threads)
    return Index(folder, opened, arrays, ann, info, loaded, threads)


def _same_model(manifest: Manifest, model: str | None) -> ModelInfo:
    made_with = manifest.model
    info = resolve_model(model or made_with["name"])
    here = info.as_dict()
    for name in _DEPENDS_ON:
        if here[name] != made_with.get(name):
            raise ModelError(
                f"the index of {manifest.corpus['name']} was made with another model: its {name} "
                f"is {_shown(made_with.get(name))}, that of {info.name} is {_shown(here[name])}; "
                "build it again (fastrecall index), or ask with the model it was made with: "
                f"{made_with['name']}"
            )
    return info


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 20 else f"{text[:13]}…'"
