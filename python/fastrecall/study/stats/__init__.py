"""What a project's history tells beside its recall: coding agents, automation, returning work."""

from fastrecall.study.stats.rules import load_rules
from fastrecall.study.stats.summary import project_stats
from fastrecall.study.stats.traces import find_traces

__all__ = ["find_traces", "load_rules", "project_stats"]
