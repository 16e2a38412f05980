"""Asking: protocols, the evaluation and its record."""

from fastrecall.study.evaluate import evaluate
from fastrecall.study.record import Record

__all__ = ["Record", "evaluate"]
