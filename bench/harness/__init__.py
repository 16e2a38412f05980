"""What all benchmarks share: processes that take turns, data, provenance, results."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
BUILD = ROOT / "build" / "bench"
"""Generated data and compiled programs; ignored by git and safe to delete."""

RESULTS = ROOT / "bench" / "results"

if importlib.util.find_spec("fastrecall") is None:  # a checkout that is not installed
    sys.path.insert(0, str(ROOT / "python"))
