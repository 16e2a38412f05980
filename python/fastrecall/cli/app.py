"""The command ``fastrecall``: what it knows, and how failures are told."""

from __future__ import annotations

import contextlib
import errno
import gc
import importlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from difflib import get_close_matches
from types import FrameType
from typing import Any

import click

from fastrecall._term import let_go_of, note, open_standard_streams
from fastrecall.cli._config import CONFIGURED, ConfigFile, option_defaults
from fastrecall.cli._kinds import Place
from fastrecall.errors import FastrecallError, InputError

COMMANDS = {
    "eval": ("fastrecall.cli.eval", "Measure how well a project's past is recalled."),
    "code-eval": ("fastrecall.cli.code_eval", "Measure how well code search answers questions."),
    "grep": ("fastrecall.cli.grep", "Find code by its syntax."),
    "fetch": ("fastrecall.cli.fetch", "Bring a repository's issues and pull requests here."),
    "dataset": ("fastrecall.cli.dataset", "Store a corpus that does not fit in memory."),
    "index": ("fastrecall.cli.index", "Prepare a corpus for search and for assistants."),
    "search": ("fastrecall.cli.search", "Find the past tickets that answer a symptom."),
    "serve": ("fastrecall.cli.serve", "Serve recall to assistants (MCP over stdin and stdout)."),
    "hook": ("fastrecall.cli.hook", "Recall for an assistant's prompt hook (JSON on stdin)."),
    "gold": ("fastrecall.cli.gold", "Write the gold pairs (issue, PR) of a corpus as CSV."),
    "links": ("fastrecall.cli.links", "Show what each link source finds, and their overlap."),
    "compare": ("fastrecall.cli.compare", "Compare two records, pair by pair."),
    "sweep": ("fastrecall.cli.sweep", "Evaluate many settings, and say which differ."),
    "reproduce": ("fastrecall.cli.reproduce", "Repeat a published run, and explain differences."),
    "stats": ("fastrecall.cli.stats", "Show agents, automation and work that returns."),
    "code-sweep": (
        "fastrecall.cli.code_sweep",
        "Vary the reasoning step, and say what is noise.",
    ),
    "score": ("fastrecall.cli.score", "Score a TREC run against TREC qrels."),
    "config": ("fastrecall.cli.config", "Write the settings file, or show what holds."),
    "models": ("fastrecall.cli.models", "List the embedding models, or fetch one."),
    "info": ("fastrecall.cli.info", "Show versions, instruction sets, threads and folders."),
}
"""Each command's module, loaded only when it is called, and its line in the help."""

BAD_INPUT, INTERRUPTED, TERMINATED = 2, 130, 143

FAILED = {"hook": 1}
"""The exit code of commands whose caller takes `BAD_INPUT` for something else: assistants take it
from a prompt hook as an order to drop the prompt."""

_NO_MEMORY = ("failed to map segment", "annot allocate memory", "can't start new thread")
"""What the loader of shared libraries and the starter of threads say when there is no room."""

_GARBAGE_THRESHOLDS = (100_000, 50, 100)
"""Commands make hundreds of thousands of records and hardly a reference cycle; looking for cycles
as often as Python does by itself would take a tenth of their time."""


class LazyGroup(click.Group):
    """Loads a command's module when it is called, so that ``--help`` is instant."""

    called = ""
    """The command that was called last."""
    asked_for_help = False
    """Whether it was called for its help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order of `COMMANDS`."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The command *name*, or None."""
        if name not in COMMANDS:
            return None
        module = importlib.import_module(COMMANDS[name][0])
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; an unknown one gets a suggestion."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = get_close_matches(args[0], COMMANDS, n=1)
            hint = f" Did you mean '{near[0]}'?" if near else ""
            ctx.fail(f"No such command '{args[0]}'.{hint}")
        self.called = args[0] if args else ""
        self.asked_for_help = not {"-h", "--help"}.isdisjoint(args)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


def _show_version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value:
        import fastrecall

        click.echo(f"fastrecall {fastrecall.__version__}")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
@click.option(
    "--config",
    "config_path",
    type=Place(),
    metavar="FILE",
    help="Read settings from this file and no other; see `fastrecall config`.",
)
@click.pass_context
def app(ctx: click.Context, config_path: str | None) -> None:
    """Measure how well a project's past is recalled.

    Given a symptom (the title of an issue), does the memory bring back the pull request that fixed
    it? Start with `fastrecall eval`: it runs on a generated demo and needs no network.

    Data goes to stdout, everything else to stderr. Exit codes: 0 done, 1 a gate failed, 2 bad
    input.
    """
    ctx.obj = file = ConfigFile(config_path)
    if ctx.invoked_subcommand in CONFIGURED:
        command = ctx.invoked_subcommand
        try:
            ctx.default_map = {command: option_defaults(file.config, command)}
        except InputError as error:
            if not app.asked_for_help:
                raise
            note(f"error: {error}")


def main(args: list[str] | None = None) -> None:
    """Run the command line and exit with its code; an expected failure is one sentence."""
    app.called = ""
    code = _run(args)
    sys.exit(FAILED.get(app.called, code) if code == BAD_INPUT else code)


def _run(args: list[str] | None) -> int:
    gc.set_threshold(*_GARBAGE_THRESHOLDS)
    open_standard_streams()
    _choose_encodings()
    try:
        with _termination_is_an_exception():
            code = app.main(args=args, prog_name="fastrecall", standalone_mode=False)
            sys.stdout.flush()
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        try:
            error.show()
        except OSError:
            let_go_of(sys.stderr)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        note("interrupted; what was finished is kept")
        return INTERRUPTED
    except _Terminated:
        note("terminated; what was finished is kept")
        return TERMINATED
    except FastrecallError as error:
        note(f"error: {error}")
        return BAD_INPUT
    except BrokenPipeError:
        let_go_of(sys.stdout)
        return 0
    except (MemoryError, ImportError, OSError, RuntimeError) as error:
        sentence = _machine_failure(error)
        if sentence is None:
            raise
        note(f"error: {sentence}")
        let_go_of(sys.stdout)
        return BAD_INPUT
    return code if isinstance(code, int) else 0


def _choose_encodings() -> None:
    """Data for a file or a program is UTF-8; what a stream cannot print is replaced, no failure."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure: Any = getattr(stream, "reconfigure", None)
        if reconfigure:
            is_data = stream is sys.stdout and not stream.isatty()
            chosen = is_data and not os.environ.get("PYTHONIOENCODING")
            reconfigure(encoding="utf-8" if chosen else stream.encoding, errors="replace")


class _Terminated(BaseException):
    """SIGTERM came."""


@contextlib.contextmanager
def _termination_is_an_exception() -> Iterator[None]:
    """Let SIGTERM end the block as Ctrl-C does, so that files are put right; a second one kills."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def terminate(_signal: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        raise _Terminated

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _machine_failure(error: Exception) -> str | None:
    """The sentence for what is the machine's fault, not the program's; None: it is not."""
    text = str(error)
    if (
        isinstance(error, MemoryError)
        or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
        or any(sign in text for sign in _NO_MEMORY)
    ):
        return (
            "out of memory; use a smaller window (--window-prs, --window-issues) or fewer "
            "--threads, or give the process more (ulimit -v, the container's limit)"
        )
    if isinstance(error, OSError):
        return f"{error.filename or 'cannot write the output'}: {error.strerror or error}"
    return None
