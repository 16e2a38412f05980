"""What a prompt hook of an assistant gets: a few recalled items as context, or nothing."""

from __future__ import annotations

import json

from fastrecall import _json
from fastrecall.errors import InputError
from fastrecall.serve.memory import ProjectMemory

ITEMS = 3
_FEWEST_WORDS = 3
"""Shorter prompts ("yes", "go on") ask for nothing that the past could answer."""


def hook_answer(memory: ProjectMemory, given: str) -> str:
    """The JSON to print for the JSON on stdin; empty when there is nothing to say.

    Raises:
        InputError: no JSON object with a text ``prompt``.
    """
    try:
        event = _json.loads(given)
    except ValueError as error:
        raise InputError(f"stdin is no JSON ({error}); expected a prompt hook's event") from error
    prompt = event.get("prompt") if isinstance(event, dict) else None
    if not isinstance(prompt, str):
        raise InputError("the event has no text 'prompt'; register this for UserPromptSubmit")
    if len(prompt.split()) < _FEWEST_WORDS:
        return ""
    recalled = memory.recall(prompt, k=ITEMS)
    if not recalled.items:
        return ""
    lines = [f"From this project's past. {recalled.notice.split(' explain(')[0]}"]
    for item in recalled.items:
        facts = ", ".join(part for part in (item.date, item.state, item.url, item.origin) if part)
        lines.append(f"- {item.id}: {item.title} ({facts})\n  {item.quote}".rstrip())
    name = event.get("hook_event_name")
    output = {
        "hookEventName": name if isinstance(name, str) else "UserPromptSubmit",
        "additionalContext": "\n".join(lines),
    }
    return json.dumps({"hookSpecificOutput": output}, ensure_ascii=False)
