"""Sentence vectors the slow way: one text at a time, every step spelled out in float64."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnxruntime
from tokenizers import Tokenizer


def mean_pooled(model: str, tokenizer: str, texts: Sequence[str], *, max_tokens: int) -> np.ndarray:
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    words = Tokenizer.from_file(tokenizer)
    words.no_padding()
    words.enable_truncation(max_tokens)
    rows = []
    for text in texts:
        ids = np.array([words.encode(text).ids], dtype=np.int64)
        given = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        states = session.run(None, given)[0][0].astype(np.float64)
        total = np.zeros(states.shape[1])
        for state in states:
            total += state
        mean = total / len(states)
        rows.append(mean / np.sqrt((mean * mean).sum()))
    return np.array(rows)
