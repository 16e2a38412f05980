"""Provoke every fault and print the table: ``python -m tests.faults [--quick] [WORDS…]``.

Words choose rows whose fault or trial contains one of them. ``--markdown`` prints the table of
docs/faults.md instead.
"""

from __future__ import annotations

import contextlib
import io
import sys
import time

from tests.faults.document import table_lines
from tests.faults.table import TABLE
from tests.faults.trials import ImpossibleError


def main(arguments: list[str]) -> int:
    """Run what was asked for; 1 when a promise is broken."""
    if arguments == ["--markdown"]:
        print("\n".join(table_lines()))
        return 0
    quick = "--quick" in arguments
    words = [word.lower() for word in arguments if not word.startswith("-")]
    counts = {"kept": 0, "broken": 0, "not possible here": 0}
    for row in TABLE:
        if quick and row.only_thorough:
            continue
        for name, trial in row.trials:
            where = f"{row.fault} · {name}"
            if words and not any(word in where.lower() for word in words):
                continue
            began = time.monotonic()
            try:
                with contextlib.redirect_stderr(io.StringIO()):
                    told, verdict = trial(row.quick if quick else row.thorough), "kept"
            except ImpossibleError as reason:
                told, verdict = str(reason), "not possible here"
            except AssertionError as failure:
                told, verdict = str(failure), "broken"
            counts[verdict] += 1
            print(f"{verdict:6} {where}: {told} ({time.monotonic() - began:.1f} s)", flush=True)
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    return 1 if counts["broken"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
