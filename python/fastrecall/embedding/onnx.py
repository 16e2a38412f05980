"""Texts to vectors with a transformer in ONNX form: batches, pooling, length 1.

Every inference runs on one thread, and as many of them run side by side as there are threads to
use. That is faster than one session with several threads (no barrier after every operator), and
the vectors are the same to the last bit whatever the thread count, because the batches are.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fastrecall.embedding.models import ModelInfo, check_files
from fastrecall.errors import ModelError
from fastrecall.types import Vectors

TOKEN_BUDGET = 256
"""Padded tokens in a batch; a longer text goes alone. A token costs the same in batches of 192 to
512, and small batches pad less and keep all threads busy to the end."""

_TEXTS_TOKENISED_AT_ONCE = 512

_SLOWER_OPTIMISERS = ["SkipLayerNormFusion"]
"""The fused operator takes eight times as long as the addition and the normalisation it replaces
(onnxruntime 1.32 on x86-64: 12 of 135 ms a batch)."""


@dataclass(frozen=True)
class Batch:
    """Vectors of some texts: ``rows`` are their places in the input, ``padded`` counts the token
    places that were computed, ``tokens`` those that hold a token."""

    rows: npt.NDArray[np.intp]
    vectors: Vectors
    tokens: int
    padded: int


class OnnxEncoder:
    """A loaded model; `batches` may be called again and again."""

    def __init__(self, model: ModelInfo, *, threads: int) -> None:
        self._model = model
        self._threads = threads
        self._tokenizer = _load_tokenizer(model)
        self._pad = _padding_id(self._tokenizer)
        self._session = _load_session(model)
        self._inputs = {node.name for node in self._session.get_inputs()}

    def batches(self, texts: Sequence[str]) -> Generator[Batch, None, None]:
        """Embed *texts* (each encodable as UTF-8); yields batches as they get done.

        Longest texts first: what remains at the end is small, so that all threads finish together.
        """
        # The pool is left by cancelling what has not begun, so that an interrupt is answered
        # within one batch.
        pool = ThreadPoolExecutor(self._threads, thread_name_prefix="fastrecall-embed")
        waiting: deque[Future[Batch]] = deque()
        try:
            for rows, ids in self._token_batches(texts, pool):
                waiting.append(pool.submit(self._run, rows, ids))
                while len(waiting) > 2 * self._threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _token_batches(
        self, texts: Sequence[str], pool: ThreadPoolExecutor
    ) -> Iterator[tuple[list[int], list[list[int]]]]:
        """Batches of (rows, token ids), similar lengths together.

        Texts are tokenised in portions while earlier portions are being computed. The length in
        bytes orders the portions, the number of tokens orders the texts within one.
        """
        order = sorted(range(len(texts)), key=lambda row: (-len(texts[row].encode()), row))
        portions = [
            order[start : start + _TEXTS_TOKENISED_AT_ONCE]
            for start in range(0, len(order), _TEXTS_TOKENISED_AT_ONCE)
        ]
        upcoming = pool.submit(self._tokenise, texts, portions[0]) if portions else None
        for portion, following in zip(portions, [*portions[1:], None], strict=True):
            assert upcoming is not None
            tokens = upcoming.result()
            if following is not None:
                upcoming = pool.submit(self._tokenise, texts, following)
            pairs = sorted(
                zip(portion, tokens, strict=True), key=lambda pair: (-len(pair[1]), pair[0])
            )
            first = 0
            for at in range(1, len(pairs) + 1):
                longest = len(pairs[first][1])
                if at == len(pairs) or longest * (at - first + 1) > TOKEN_BUDGET:
                    yield [row for row, _ in pairs[first:at]], [ids for _, ids in pairs[first:at]]
                    first = at

    def _tokenise(self, texts: Sequence[str], rows: list[int]) -> list[list[int]]:
        with _usable_tokenizer(self._model):
            encodings = self._tokenizer.encode_batch_fast([texts[row] for row in rows])
        ids = [encoding.ids for encoding in encodings]
        if not all(ids):
            raise ModelError(
                f"{self._model.tokenizer} finds no token in some texts (such as an empty one); "
                "expected a tokenizer that marks where a text begins, as those of BERT do"
            )
        return ids

    def _run(self, rows: list[int], ids: list[list[int]]) -> Batch:
        lengths = [len(one) for one in ids]
        shape = (len(ids), max(lengths))
        tokens = np.full(shape, self._pad, dtype=np.int64)
        mask = np.zeros(shape, dtype=np.int64)
        for row, one in enumerate(ids):
            tokens[row, : len(one)] = one
            mask[row, : len(one)] = 1
        given = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(mask)}
        try:
            states = self._session.run(
                None, {name: value for name, value in given.items() if name in self._inputs}
            )[0]
        except Exception as error:  # onnxruntime's errors have no common class of their own
            _refuse_if_no_memory(error)
            raise ModelError(
                f"{self._model.path} fails on the tokens that {self._model.tokenizer} makes "
                f"({_line(error)}); one of them belongs to another model: copy or fetch it again"
            ) from error
        vectors = self._pool(states, mask)
        return Batch(np.array(rows, dtype=np.intp), vectors, sum(lengths), mask.size)

    def _pool(self, states: Any, mask: npt.NDArray[np.int64]) -> Vectors:
        kind, shape = (
            (states.dtype, list(states.shape))
            if isinstance(states, np.ndarray)
            else (type(states).__name__, [])
        )
        dim = self._model.dim or (shape[-1] if shape else 0)
        if shape != [*mask.shape, dim] or states.dtype.kind != "f":
            raise ModelError(
                f"{self._model.path} returns {kind} of shape {shape}, expected [texts, tokens, "
                f"{self._model.dim or 'dim'}] of floats; its config.json or the file itself "
                "belongs to another model"
            )
        if self._model.pooling == "cls":
            pooled = states[:, 0]
        else:
            # Token after token: a matrix product would add in an order that depends on how far the
            # batch is padded. Dividing by the number of tokens would be undone by the next line.
            pooled = np.add.reduce(states * mask.astype(np.float32)[:, :, None], axis=1)
        norms = np.linalg.norm(pooled, axis=1, keepdims=True)
        if not np.all(np.isfinite(norms)) or not np.all(norms > 0):
            raise ModelError(f"{self._model.path} returns vectors that are zero or not finite")
        vectors: Vectors = (pooled / norms).astype(np.float32, copy=False)
        return vectors


@functools.lru_cache(maxsize=2)
def load_encoder(model: ModelInfo, threads: int) -> OnnxEncoder:
    """A loaded model, kept for the next call: loading takes longer than embedding ten texts.

    The digests in *model* see to it that a file that changed is loaded anew, and that what is
    loaded is what they are of. A forked child loads anew, too: in its copy a lock may be held by a
    thread that it does not have.
    """
    check_files(model)
    return OnnxEncoder(model, threads=threads)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=load_encoder.cache_clear)


def _load_tokenizer(model: ModelInfo) -> Any:
    from tokenizers import Tokenizer

    with _usable_tokenizer(model):
        tokenizer = Tokenizer.from_file(str(model.tokenizer))
    tokenizer.enable_truncation(model.max_tokens)
    return tokenizer


@contextlib.contextmanager
def _usable_tokenizer(model: ModelInfo) -> Iterator[None]:
    """Around what reads or runs a tokenizer.json: what fails there is the file's fault.

    Raises:
        ModelError: it did.
    """
    try:
        yield
    except MemoryError:
        raise
    except BaseException as error:  # tokenizers raises bare Exception, and a panic is not even one
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise ModelError(
            f"{model.tokenizer} is no tokenizer that can be used ({_line(error)}); "
            "copy or fetch the model again"
        ) from error


def _padding_id(tokenizer: Any) -> int:
    """The padding token's id; the mask hides it, but some models count positions by it."""
    padding = tokenizer.padding
    tokenizer.no_padding()
    if padding:
        return int(padding["pad_id"])
    for token in ("[PAD]", "<pad>"):
        known = tokenizer.token_to_id(token)
        if known is not None:
            return int(known)
    return 0


def _load_session(model: ModelInfo) -> Any:
    # Its official builds write down a device id and send what they do to their maker.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime  # type: ignore[import-untyped]

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        session = onnxruntime.InferenceSession(
            str(model.path),
            options,
            providers=["CPUExecutionProvider"],
            disabled_optimizers=_SLOWER_OPTIMISERS,
        )
    except Exception as error:  # onnxruntime's errors have no common class of their own
        _refuse_if_no_memory(error)
        raise ModelError(
            f"{model.path} is no ONNX model that can be loaded ({_line(error)}); "
            "copy or fetch the model again"
        ) from error
    known = {"input_ids", "attention_mask", "token_type_ids"}
    unknown = [node.name for node in session.get_inputs() if node.name not in known]
    if unknown:
        raise ModelError(
            f"{model.path} wants the input {unknown[0]!r}; expected a text encoder with "
            f"{', '.join(sorted(known))} only"
        )
    return session


def _refuse_if_no_memory(error: Exception) -> None:
    """Raise MemoryError when that is what onnxruntime's error is about."""
    text = str(error).lower()
    if any(sign in text for sign in ("bad_alloc", "bad allocation", "failed to allocate memory")):
        raise MemoryError from error


def _line(error: BaseException) -> str:
    """The first line of a foreign error, short."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:160]
