"""What an assistant sends, and the file of counts. The first line is that file, every other one a
message: a ``tool`` and its ``arguments`` are a call over MCP, if the protocol's own parser takes
them; anything else is what a prompt hook finds on stdin."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import anyio
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from pydantic import JsonValue, TypeAdapter
from tests.fuzz.common import empty_folder, expected_errors, must_hold
from tests.fuzz.mutate import json_lines as mutate
from tests.fuzz.targets import index_folder

from fastrecall.errors import FastrecallError
from fastrecall.search.index.opening import open_index
from fastrecall.serve.answers import MOST_BYTES
from fastrecall.serve.hook import hook_answer
from fastrecall.serve.mcp_server import make_server
from fastrecall.serve.memory import ProjectMemory

__all__ = ["mutate", "run"]

MOST_MESSAGES = 8
MESSAGE = TypeAdapter(dict[str, JsonValue])


@cache
def server() -> tuple[ProjectMemory, MCPServer]:
    memory = ProjectMemory(index_folder.whole(), empty_folder("notes"), model="fake")
    return memory, make_server(memory)


@cache
def index() -> Any:
    return open_index(index_folder.whole(), model="fake", threads=1)


def run(data: bytes) -> None:
    folder = empty_folder("notes")
    memory, tools = server()
    ProjectMemory.__init__(memory, index_folder.whole(), folder, model="fake")
    memory._index = index()
    counts, *messages = data.split(b"\n")
    (folder / "delivered.json").write_bytes(counts)
    for message in messages[:MOST_MESSAGES]:
        try:
            given = MESSAGE.validate_json(message)
        except ValueError:
            given = {}
        if isinstance(given.get("tool"), str) and isinstance(given.get("arguments"), dict):
            call(tools, given["tool"], given["arguments"])
        else:
            hook(memory, message)
    call(tools, "memory_status", {})
    memory.close()
    with expected_errors():
        ever = memory._counts.ever()
        must_hold(0 <= ever.answered <= ever.asked and ever.items >= 0, "counts")
        must_hold(type(memory)(None, folder)._counts.ever() == ever, "counts that were not saved")


def call(tools: MCPServer, name: str, arguments: dict[str, Any]) -> None:
    """A call as the server takes it; what it refuses it says in a sentence."""

    async def asked() -> Any:
        return await tools.call_tool(name, arguments)

    try:
        result = anyio.run(asked)
    except UnexpectedToolError as error:
        raise error.__cause__ or error from None
    except ToolError as error:
        cause = error.__cause__
        told = isinstance(cause, ToolError) and isinstance(cause.__cause__, FastrecallError)
        must_hold(
            told or cause is None or isinstance(cause, ValueError), "a refusal without reason"
        )
        return
    sent = result.model_dump_json(by_alias=True)
    must_hold(name == "memory_status" or len(sent) <= 4 * MOST_BYTES, "a long answer")


def hook(memory: ProjectMemory, message: bytes) -> None:
    with expected_errors():
        answer = hook_answer(memory, message.decode("utf-8", "replace"))
        if answer:
            told = json.loads(answer.encode("utf-8", "replace"))["hookSpecificOutput"]
            must_hold(isinstance(told["hookEventName"], str), "the name of an event")
            must_hold(isinstance(told["additionalContext"], str), "context")
