"""Faults that befall whole commands: signals, output that cannot be written, little memory."""

from __future__ import annotations

import contextlib
import json
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.children import environment
from tests.corpus.fetch.fake_github import TOKEN, fake_github, sample

_STARTED = (
    "import sys, fastrecall.cli.app as app; print('started', file=sys.stderr, flush=True);"
    "app.main(sys.argv[1:])"
)
_PATIENCE = 120


@dataclass(frozen=True)
class Command:
    """A command line, what of its output counts, and about how long it takes."""

    name: str
    arguments: tuple[str, ...]
    result: Callable[[Path], Any]
    needs_github: bool = False


def _record(folder: Path) -> Any:
    record = json.loads((folder / "record.json").read_text("utf-8"))
    del record["timings"]
    pages = sorted(path.name for path in (folder / "trec").glob("[!.]*"))
    return record, pages, (folder / "page.html").stat().st_size > 100_000


def _index(folder: Path) -> Any:
    from fastrecall.search.index.folder import open_build

    manifest, arrays, _ = open_build(folder / "index")
    return dict(manifest.corpus), {name: array.tobytes() for name, array in arrays.items()}


def _fetched(folder: Path) -> Any:
    return [path.read_bytes() for path in folder.rglob("*.parquet")]


COMMANDS = {
    command.name: command
    for command in (
        Command(
            "eval",
            ("eval", "demo:300", "--model", "fake", "--out", "record.json", "--html", "page.html",
             "--trec", "trec"),
            _record,
        ),
        Command("index", ("index", "demo", "--model", "fake", "--out", "index"), _index),
        Command("fetch", ("fetch", "demo/lattice"), _fetched, needs_github=True),
    )
}  # fmt: skip


@contextlib.contextmanager
def _surroundings(command: Command, folder: Path) -> Iterator[dict[str, str]]:
    folders = {"FASTRECALL_DATA": str(folder), "FASTRECALL_CACHE": str(folder / "cache")}
    env = environment(**folders, GITHUB_TOKEN=TOKEN)
    env.pop("LD_PRELOAD", None)
    if not command.needs_github:
        yield env
        return
    with fake_github(sample(issues=150, prs=250)) as server:
        server.delay = 0.02
        yield {**env, "GITHUB_API_URL": server.api_url}


def _start(command: Command, folder: Path, env: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _STARTED, *command.arguments],
        cwd=folder,
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def _wait_for_start(child: subprocess.Popen[str]) -> None:
    assert child.stderr
    assert child.stderr.readline() == "started\n"


def _finish(child: subprocess.Popen[str]) -> str:
    _, said = child.communicate(timeout=_PATIENCE)
    return said


def signalled(name: str, number: signal.Signals, times: int) -> str:
    """Send a signal at random moments; the run after that equals an undisturbed one."""
    command = COMMANDS[name]
    dice = random.Random(f"{name} {number}")
    slowest = 0.0
    ended = 0
    with tempfile.TemporaryDirectory() as base:
        whole, place = Path(base, "whole"), Path(base, "place")
        whole.mkdir()
        place.mkdir()
        with _surroundings(command, whole) as env:
            child = _start(command, whole, env)
            _wait_for_start(child)
            began = time.monotonic()
            said = _finish(child)
            assert child.returncode == 0, said
            took = time.monotonic() - began
        with _surroundings(command, place) as env:
            for _ in range(times):
                child = _start(command, place, env)
                _wait_for_start(child)
                time.sleep(dice.uniform(0, took))
                sent = time.monotonic()
                child.send_signal(number)
                said = _finish(child)
                slowest = max(slowest, time.monotonic() - sent)
                if child.returncode == 0:
                    ended += 1
                    continue
                if child.returncode == -number and number != signal.SIGKILL:
                    # Python was on its way out already: then all must have been done.
                    assert "Traceback" not in said, said
                    assert command.result(place) == command.result(whole), said
                    ended += 1
                    continue
                assert child.returncode == _expected(number), (child.returncode, said)
                if number != signal.SIGKILL:
                    assert said.strip().split("\n")[-1].endswith("; what was finished is kept")
                    assert "Traceback" not in said, said
            child = _start(command, place, env)
            said = _finish(child)
            assert child.returncode == 0, said
        assert command.result(place) == command.result(whole), f"{name}: another result"
    return f"{times - ended} of {times} hit; the slowest ended after {slowest:.2f} s"


def _expected(number: signal.Signals) -> int:
    if number == signal.SIGKILL:
        return -number
    return 128 + number


def serve_stopped(number: signal.Signals) -> str:
    """A server whose stdin stays open ends at once, with its counts kept."""
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base)
        command = Command("serve", ("serve", "--memory", "notes"), lambda _: None)
        with _surroundings(command, folder) as env:
            child = subprocess.Popen(
                [sys.executable, "-m", "fastrecall", *command.arguments],
                cwd=folder, env=env, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip
            with child:
                assert child.stdin
                assert child.stdout
                for message in _SESSION:
                    child.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
                    child.stdin.flush()
                    if "id" in message:
                        answer = json.loads(child.stdout.readline())
                        assert not answer["result"].get("isError"), answer
                sent = time.monotonic()
                child.send_signal(number)
                code = child.wait(_PATIENCE)
                took = time.monotonic() - sent
        notes = (folder / "notes" / "journal").read_bytes().count(b"\n")
        assert notes == 1, "an acknowledged note is lost"
        if number != signal.SIGKILL:
            assert code == 128 + number, code
            assert took < 20
            counts = json.loads((folder / "notes" / "delivered.json").read_text())
            assert counts["asked"] == 1, counts
    return f"ended after {took:.2f} s"


_SESSION: tuple[dict[str, Any], ...] = (
    {
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    },
    {"method": "notifications/initialized"},
    {
        "id": 2,
        "method": "tools/call",
        "params": {"name": "remember", "arguments": {"text": "the queue lost its lease"}},
    },
    {
        "id": 3,
        "method": "tools/call",
        "params": {"name": "recall", "arguments": {"query": "lease"}},
    },
)


def run(arguments: list[str], **how: Any) -> subprocess.CompletedProcess[str]:
    """A command in a folder of its own."""
    with (
        tempfile.TemporaryDirectory() as base,
        _surroundings(COMMANDS["eval"], Path(base)) as env,
    ):
        given: dict[str, Any] = {"stdout": subprocess.PIPE, **how}
        return subprocess.run(
                [sys.executable, "-m", "fastrecall", *arguments],
                cwd=base, env=env, text=True, stderr=subprocess.PIPE, timeout=_PATIENCE, **given,
            )  # fmt: skip


def stdout_full() -> str:
    """Data goes to a full device."""
    with Path("/dev/full").open("w") as full:
        done = run(["eval", "demo:300", "--model", "fake"], stdout=full)
    assert done.returncode == 2, done.stderr
    assert done.stderr.strip().split("\n")[-1].startswith("error: cannot write"), done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr.strip().split("\n")[-1]


def little_memory(arguments: list[str], megabytes: int, sentence: str = "") -> str:
    """So much address space, and a result or a sentence."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))

    done = run(arguments, preexec_fn=limit)
    assert "Traceback" not in done.stderr, done.stderr
    if sentence:
        assert done.returncode != 0, done.stdout
        assert sentence in done.stderr, done.stderr
        return f"“{sentence}”"
    assert done.returncode == 0, done.stderr
    return "done"
