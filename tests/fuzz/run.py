"""Fuzz the readers: ``python tests/fuzz/run.py --seconds 60 --target hnsw``.

Builds the C++ targets (Clang with libFuzzer), starts the Python ones (``pip install '.[fuzz]'``),
keeps what grows under ``build/fuzz`` and continues from there, and makes every finding small.
Prints a table, and with ``--json`` the same as JSON. Exits with 1 when there are findings.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
WORK = ROOT / "build" / "fuzz"
CPP = ("graph", "hnsw", "postings")
PYTHON = tuple(sorted(path.stem for path in (HERE / "targets").glob("[a-z]*.py")))

_ROUND_SECONDS = 240
"""A process lives no longer: what it has found is safe by then, and its CPU time is known."""

_HANG_SECONDS = 120
_MEMORY_MB = 3072
_STATUS = re.compile(r"#(\d+)\s+\S+\s+(?:cov: (\d+) )?(?:ft: (\d+) )?(?:corp: (\d+))?")


@dataclass
class Figures:
    """What a target has run so far, over all calls of this program."""

    target: str
    executions: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    coverage: int = 0  # edges
    corpus: int = 0
    findings: list[str] = field(default_factory=list)

    @property
    def path(self) -> Path:
        return WORK / self.target / "figures.json"

    @classmethod
    def of(cls, target: str) -> Figures:
        figures = cls(target)
        if figures.path.exists():
            figures = cls(**json.loads(figures.path.read_text()))
        return figures

    def save(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(asdict(self), indent=1) + "\n")


class Campaign:
    """The rounds of one target."""

    def __init__(self, target: str, *, max_len: int) -> None:
        self.target = target
        self.max_len = max_len
        self.figures = Figures.of(target)
        self.folder = WORK / target
        self.corpus = self.folder / "corpus"
        self.findings = self.folder / "findings"
        for folder in (self.corpus, self.findings):
            folder.mkdir(parents=True, exist_ok=True)
        self.seeds = HERE / "seeds" / target

    def run(self, *, seconds: float, runs: int) -> None:
        """Rounds until *runs* executions or *seconds* of CPU time are reached in all, or a
        finding stops a C++ target for good."""
        while self.figures.executions < runs and self.figures.cpu_seconds < seconds:
            left = max(5, min(_ROUND_SECONDS, int(seconds - self.figures.cpu_seconds) + 1))
            whole = self.round(left, runs - self.figures.executions)
            self.figures.findings = sorted(path.name for path in self.findings.iterdir())
            self.figures.save()
            if not whole:
                return

    def round(self, seconds: int, runs: int) -> bool:
        """One process; whether it ended by itself."""
        command = [
            *self.program(),
            f"-max_total_time={seconds}",
            f"-runs={runs}",
            f"-max_len={self.max_len}",
            f"-timeout={_HANG_SECONDS}",
            f"-rss_limit_mb={_MEMORY_MB}",
            f"-artifact_prefix={self.findings}{os.sep}",
            str(self.corpus),
            *([str(self.seeds)] if self.seeds.is_dir() else []),
        ]
        started = time.monotonic()
        log = self.folder / "log"
        stopped: BaseException | None = None
        with log.open("wb") as file:
            process = subprocess.Popen(
                command, stdout=file, stderr=subprocess.STDOUT, env=self.environment(), cwd=ROOT
            )
            try:
                _, status, usage = os.wait4(process.pid, 0)
            except (KeyboardInterrupt, SystemExit) as error:
                process.terminate()
                _, status, usage = os.wait4(process.pid, 0)
                stopped = error
        process.returncode = os.waitstatus_to_exitcode(status)
        self.figures.seconds += time.monotonic() - started
        self.figures.cpu_seconds += usage.ru_utime + usage.ru_stime
        self.count(log.read_text(errors="replace"))
        if stopped is not None:
            self.figures.save()
            raise stopped
        return status == 0

    def count(self, log: str) -> None:
        lines = [match for match in map(_STATUS.match, log.splitlines()) if match]
        if lines:
            self.figures.executions += int(lines[-1][1])
        done = re.search(r"Done (\d+) runs", log)
        if done and lines:
            self.figures.executions += max(0, int(done[1]) - int(lines[-1][1]))
        with_coverage = [match for match in lines if match[2]]
        if with_coverage:
            self.figures.coverage = max(self.figures.coverage, int(with_coverage[-1][2]))
            self.figures.corpus = int(with_coverage[-1][4] or 0)

    def program(self) -> list[str]:
        if self.target in CPP:
            return [str(WORK / "cpp" / f"fastrecall_fuzz_{self.target}")]
        findings = str(self.findings)
        return [sys.executable, "-m", "tests.fuzz.atheris_target", self.target, findings]

    def environment(self) -> dict[str, str]:
        given = os.environ | {"UBSAN_OPTIONS": "print_stacktrace=1"}
        if any((ROOT / "python" / "fastrecall").glob("_core*.so")):  # else what is installed
            paths = filter(None, [str(ROOT / "python"), os.environ.get("PYTHONPATH")])
            given["PYTHONPATH"] = os.pathsep.join(paths)
        return given

    def minimise(self) -> None:
        """Make findings small; those of Python know how themselves."""
        if self.target not in CPP:
            command = [*self.program()[:-1], "--minimise", str(self.findings)]
            subprocess.run(command, check=False, cwd=ROOT, env=self.environment())
            return
        for path in self.findings.glob("crash-*"):
            command = [
                *self.program(),
                "-minimize_crash=1",
                "-max_total_time=30",
                f"-exact_artifact_path={path}.small",
                str(path),
            ]
            subprocess.run(command, check=False, capture_output=True, cwd=ROOT)


def build() -> None:
    """The C++ targets, with address and undefined-behaviour sanitizers."""
    compiler = next(filter(None, map(shutil.which, ("clang++", "clang++-14"))), None)
    if compiler is None:
        raise SystemExit("the C++ targets need clang++ with libFuzzer; install clang")
    folder = WORK / "cpp"
    options = (
        f"-DCMAKE_CXX_COMPILER={compiler}",
        "-DFASTRECALL_PYTHON=OFF",
        "-DFASTRECALL_FUZZ=ON",
        "-DFASTRECALL_SANITIZE=address,undefined",
        "-DCMAKE_CXX_FLAGS_RELEASE=-O1",
    )
    for command in (
        ("cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", *options),
        ("cmake", "--build", folder, "-j2"),
    ):
        subprocess.run(command, check=True, stdout=sys.stderr)


def table(rows: list[Figures]) -> str:
    """The figures as text."""
    lines = [f"{'target':<16}{'executions':>12}{'CPU min':>9}{'edges':>7}{'inputs':>8}  findings"]
    lines += [
        f"{row.target:<16}{row.executions:>12,}{row.cpu_seconds / 60:>9.1f}"
        f"{row.coverage:>7}{row.corpus:>8}  {len(row.findings)}"
        for row in rows
    ]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--target", action="append", choices=[*CPP, *PYTHON], help="repeatable")
    parser.add_argument("--seconds", type=float, default=60, help="CPU seconds a target, in all")
    parser.add_argument("--runs", type=int, default=10**12, help="executions a target, in all")
    parser.add_argument("--max-len", type=int, default=4096)
    parser.add_argument("--as-built", action="store_true", help="C++ programs as they lie there")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--show", action="store_true", help="print the figures so far, run nothing")
    chosen = parser.parse_args()
    targets = chosen.target or [*CPP, *PYTHON]
    # Also where a shell has told its background to ignore interrupts.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit("stopped; what was found is kept"))
    if not chosen.show:
        if not chosen.as_built and any(target in CPP for target in targets):
            build()
        for target in targets:
            campaign = Campaign(target, max_len=chosen.max_len)
            try:
                campaign.run(seconds=chosen.seconds, runs=chosen.runs)
            finally:
                campaign.minimise()
            print(table([campaign.figures]), file=sys.stderr)
    rows = [Figures.of(target) for target in targets]
    print(json.dumps([asdict(row) for row in rows], indent=1) if chosen.json else table(rows))
    return 1 if any(row.findings for row in rows) else 0


if __name__ == "__main__":
    raise SystemExit(main())
