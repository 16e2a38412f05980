"""Asking: protocols, the evaluation and its record."""

from fastrecall.study.evaluation import evaluate
from fastrecall.study.record import Record

__all__ = ["Record", "evaluate"]
