"""Metrics of rankings, one family a file; `Metric` is the door to all of them."""

from fastrecall.measure.metrics.family import Family
from fastrecall.measure.metrics.metric import FAMILIES, Metric, parse_metrics

__all__ = ["FAMILIES", "Family", "Metric", "parse_metrics"]
