"""Texts in, vectors out: border checks, cache, encoder, report."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from fastrecall._term import progress as progress_bar
from fastrecall._threads import resolve_threads
from fastrecall.embedding.cache import VectorCache
from fastrecall.embedding.fake import fake_vectors
from fastrecall.embedding.folders import chosen_folder
from fastrecall.embedding.models import ModelInfo, resolve_model
from fastrecall.errors import InputError
from fastrecall.types import Vectors

TextKind = Literal["passage", "query"]

_WORTH_A_BAR = 100  # texts; about a second of work


@dataclass(frozen=True)
class EmbedReport:
    """What one call of `embed_with_report` did.

    ``embedded`` counts texts that went through the model, ``from_cache`` those that did not have
    to; equal texts are embedded once, so the two may add up to less than ``texts``. ``tokens`` went
    through the model after cutting, ``padded_tokens`` counts them with the padding beside them.
    """

    model: ModelInfo
    texts: int
    embedded: int
    from_cache: int
    tokens: int
    padded_tokens: int
    seconds: float

    @property
    def tokens_per_second(self) -> float:
        """Real tokens a second of the whole call, 0 when nothing was embedded."""
        return self.tokens / self.seconds if self.seconds > 0 else 0.0

    @property
    def padding_share(self) -> float:
        """The share of the computed token places that held no token, 0 to 1."""
        return 1.0 - self.tokens / self.padded_tokens if self.padded_tokens else 0.0


def embed(
    texts: Sequence[str],
    *,
    model: str | os.PathLike[str] = "minilm",
    threads: int | None = None,
    cache: bool | Path = True,
    kind: TextKind = "passage",
    progress: bool = True,
) -> Vectors:
    """Embed texts: float32 ``[len(texts), dim]``, rows of length 1, in the order of *texts*.

    Long texts are cut at the model's limit; a lone surrogate counts as U+FFFD. A vector depends
    on its own text only, whatever else is in the call, and is the same on any thread count.

    Args:
        texts: any number of texts, also none, also empty ones.
        model: what `resolve_model` understands.
        threads: how many texts are worked on at once; all usable cores by default.
        cache: ``True`` for the usual folder, a folder, or ``False`` to neither read nor write.
        kind: whether the texts are to be found or are asked; some models want to be told.
        progress: draw a bar on stderr for longer work.

    Raises:
        InputError: something that is not a text, or an unknown option.
        ModelError: a model that is unknown, damaged or not on this machine.
        CacheError: a cache that cannot be read or written.

    >>> embed(["segmentation fault"], model="fake").shape
    (1, 384)
    """
    return embed_with_report(
        texts, model=model, threads=threads, cache=cache, kind=kind, progress=progress
    )[0]


def embed_with_report(
    texts: Sequence[str],
    *,
    model: str | os.PathLike[str] = "minilm",
    threads: int | None = None,
    cache: bool | Path = True,
    kind: TextKind = "passage",
    progress: bool = True,
) -> tuple[Vectors, EmbedReport]:
    """`embed`, and what it took.

    >>> vectors, report = embed_with_report(["a", "b"], model="fake")
    >>> report.embedded, report.from_cache
    (2, 0)
    """
    began = time.perf_counter()
    threads = resolve_threads(threads)
    if kind not in ("passage", "query"):
        raise InputError(f"kind is {kind!r}; expected 'passage' or 'query'")
    clean = _clean(texts)
    info = resolve_model(model, cache=cache)
    if info.path is None:
        vectors = fake_vectors(clean, info.dim)
        return vectors, EmbedReport(
            info, len(clean), len(clean), 0, 0, 0, time.perf_counter() - began
        )

    prefix = info.query if kind == "query" else info.passage
    position: dict[str, int] = {}
    rows = [position.setdefault(text, len(position)) for text in clean]
    unique = list(position)
    vectors, counts = _embed_unique(unique, info, prefix, threads, chosen_folder(cache), progress)
    if len(unique) < len(clean):
        vectors = vectors[np.array(rows, dtype=np.intp)]
    return vectors, EmbedReport(
        info,
        len(clean),
        counts.embedded,
        len(unique) - counts.embedded,
        counts.tokens,
        counts.padded,
        time.perf_counter() - began,
    )


def embed_question(text: str, model: ModelInfo) -> Vectors:
    """One question as a unit vector float32 ``[dim]``; nothing is looked up or kept on disk.

    *model* comes from `resolve_model`. It stays loaded for the next question.

    >>> embed_question("segmentation fault", resolve_model("fake")).shape
    (384,)
    """
    [clean] = _clean([text])
    if model.path is None:
        [vector] = fake_vectors([clean], model.dim)
        return np.asarray(vector)
    from fastrecall.embedding.onnx import load_encoder

    [batch] = load_encoder(model, 1).batches([model.query + clean])
    return np.asarray(batch.vectors[0])


@dataclass
class _Counts:
    embedded: int = 0
    tokens: int = 0
    padded: int = 0


def _embed_unique(
    texts: list[str],
    info: ModelInfo,
    prefix: str,
    threads: int,
    root: Path | None,
    progress: bool,
) -> tuple[Vectors, _Counts]:
    store = VectorCache(root, info, prefix) if root else None
    if store is None:
        vectors = np.empty((len(texts), info.dim), dtype=np.float32)
        missing = np.arange(len(texts))
    else:
        keys = store.keys(texts)
        vectors, found = store.lookup(keys, info.dim)
        missing = np.flatnonzero(~found)
    counts = _Counts(embedded=len(missing))
    if not len(missing):
        return vectors, counts

    from fastrecall.embedding.onnx import load_encoder

    with contextlib.ExitStack() as stack:
        # Before the model is loaded: an unwritable cache should fail at once.
        writer = stack.enter_context(store.writer()) if store else None
        bar = len(missing) if progress and len(missing) >= _WORTH_A_BAR else 0
        advance = stack.enter_context(progress_bar("embedding", bar))
        batches = load_encoder(info, threads).batches([prefix + texts[row] for row in missing])
        stack.enter_context(contextlib.closing(batches))
        for batch in batches:
            if vectors.shape[1] == 0:
                vectors = np.empty((len(texts), batch.vectors.shape[1]), dtype=np.float32)
            at = missing[batch.rows]
            vectors[at] = batch.vectors
            if writer:
                writer.add(keys[at], batch.vectors)
            counts.tokens += batch.tokens
            counts.padded += batch.padded
            advance(len(at))
    return vectors, counts


def _clean(texts: Sequence[str]) -> list[str]:
    """The texts as a list in which every text can be encoded as UTF-8."""
    if isinstance(texts, str):
        raise InputError("texts is one string; expected a list of texts, e.g. [text]")
    clean = []
    for at, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(
                f"text {at} is of type {type(text).__name__}; expected str ('' for no text)"
            )
        # A pair of surrogates is one character; a lone one is none, and tokenisers refuse it.
        clean.append(
            text
            if text.isascii() or _encodable(text)
            else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        )
    return clean


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
