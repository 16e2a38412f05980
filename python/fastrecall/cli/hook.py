"""``fastrecall hook``: recall for an assistant's prompt hook."""

from __future__ import annotations

import sys

import click

from fastrecall.cli.serve import memory_options, open_memory


@click.command("hook")
@memory_options
def command(
    corpus: str | None, index_path: str | None, memory_path: str | None, model: str | None
) -> None:
    """Read a prompt hook's JSON on stdin; print what the past says about the prompt, if anything.

    Prints nothing when nothing is close. A failure exits with 1: assistants take 2 as an order to
    drop the prompt.
    """
    from fastrecall.serve.hook import hook_answer

    memory = open_memory(corpus, index_path, memory_path, model)
    answer = hook_answer(memory, sys.stdin.buffer.read().decode("utf-8", "replace"))
    memory.close()
    if answer:
        sys.stdout.buffer.write(answer.encode("utf-8", "replace") + b"\n")
        sys.stdout.flush()
