"""An evaluation of 20,000 tickets: its memory, and that threads change nothing of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EVALUATE_AND_MEASURE = """
import re, sys
from fastrecall.cli.app import main
try:
    main(["eval", "demo:20000", "--model", "fake", *sys.argv[1:]])
finally:
    # The peak since the program began; getrusage would count the parent before exec, too.
    peak = re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]
    print(peak, file=sys.stderr)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_twenty_thousand_tickets_stay_below_a_gigabyte_on_any_threads(tmp_path: Path) -> None:
    records = []
    for threads in (1, 2):
        out = tmp_path / f"{threads}.json"
        run = subprocess.run(
            [
                *(sys.executable, "-c", EVALUATE_AND_MEASURE),
                *("--threads", str(threads), "--out", str(out)),
            ],
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
            env={**os.environ, "FASTRECALL_CACHE": str(tmp_path / "cache")},
        )
        kilobytes = int(run.stderr.split()[-1])
        assert kilobytes < 1_000_000, kilobytes
        record = json.loads(out.read_text(encoding="utf-8"))
        del record["timings"]
        records.append(record)
    assert records[0]["corpus"]["nodes"] > 18_000
    assert records[0]["protocols"]["published"]["pairs"] > 4_000
    assert records[0] == records[1]
