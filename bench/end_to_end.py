"""The whole of `python -m fastrecall eval`, in a process of its own, on a large demo corpus.

Run from the repository root, on an idle machine::

    python bench/end_to_end.py [--nodes 20000] [--runs 3] [--model minilm] [--threads N] [--json]

The corpus is written as `gh` would print it, so that reading JSON is part of the time. A first run
fills the cache of vectors (minutes for 20,000 tickets and a real model) and is not counted. Wall
and processor time and peak memory are those of the whole process, from its start to its end; laps
are what the record says of itself. The runs must agree on every answer: the same record, but for
its timings.

POSIX only, for peak memory comes from `wait4`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
# Linux counts peak memory in kilobytes, macOS in bytes.
RSS_BYTES = 1 if sys.platform == "darwin" else 1024


def main() -> None:
    arguments = _arguments()
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder, "demo")
        _write_corpus(corpus, arguments.nodes)
        _run(corpus, arguments)
        runs = [_run(corpus, arguments) for _ in range(arguments.runs)]
    different = {run["answers"] for run in runs}
    if len(different) > 1:
        sys.exit(f"the runs gave {len(different)} different records; expected one")
    if arguments.json:
        print(json.dumps(runs, indent=1))
    else:
        print(_table(runs))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=20_000, help="issues and PRs together")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser.parse_args()


def _write_corpus(folder: Path, nodes: int) -> None:
    # In a process of its own: a child's peak memory counts its parent's until it starts anew.
    code = (
        "import json, pathlib, sys; from fastrecall.corpus.demo import demo_records\n"
        "folder = pathlib.Path(sys.argv[1]); folder.mkdir()\n"
        "for name, records in zip(('issues', 'prs'), demo_records(nodes=int(sys.argv[2]))):\n"
        "    (folder / f'{name}.json').write_text(json.dumps(records))\n"
    )
    subprocess.run(
        [sys.executable, "-c", code, str(folder), str(nodes)], check=True, env=_environment()
    )


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "python")}


def _run(corpus: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """One evaluation: what it cost, and what it answered."""
    out = corpus.parent / "record.json"
    command = [sys.executable, "-m", "fastrecall", "eval", str(corpus), "--out", str(out)]
    command += ["--model", arguments.model]
    if arguments.threads:
        command += ["--threads", str(arguments.threads)]
    start = time.perf_counter()
    child = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=_environment()
    )
    assert child.stderr is not None
    said = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"the evaluation failed with exit code {child.returncode}: {said}")
    record = json.loads(out.read_text(encoding="utf-8"))
    timings = record.pop("timings")
    return {
        "wall_s": wall,
        "user_s": usage.ru_utime,
        "system_s": usage.ru_stime,
        "peak_mb": usage.ru_maxrss * RSS_BYTES / 1e6,
        "laps_s": timings["seconds"],
        "nodes": record["corpus"]["nodes"],
        "pairs": record["corpus"]["pairs"],
        "hits": {
            protocol: {arm: numbers["hits"] for arm, numbers in block["arms"].items()}
            for protocol, block in record["protocols"].items()
        },
        "answers": hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest(),
    }


def _table(runs: list[dict[str, Any]]) -> str:
    best = min(runs, key=lambda run: run["wall_s"])
    lines = [f"{best['nodes']} nodes, {best['pairs']} gold pairs; {len(runs)} runs, same answers"]
    lines += [
        f"wall {run['wall_s']:.2f} s · user {run['user_s']:.2f} s · system {run['system_s']:.2f} s "
        f"· peak {run['peak_mb']:.0f} MB"
        for run in runs
    ]
    laps = " · ".join(f"{name} {seconds:.2f}" for name, seconds in best["laps_s"].items())
    inside = sum(best["laps_s"].values())
    lines.append(
        f"fastest run: {laps} · start, reading and writing {best['wall_s'] - inside:.2f} s"
    )
    lines += [
        f"hits {protocol}: " + ", ".join(f"{arm} {count}" for arm, count in hits.items())
        for protocol, hits in best["hits"].items()
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
