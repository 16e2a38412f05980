"""Traces of coding agents, and texts that only look like one."""

from __future__ import annotations

from dataclasses import dataclass

from fastrecall.corpus.demo.accounts import DEPENDABOT, RENOVATE, Account


@dataclass(frozen=True, slots=True)
class Trace:
    """What one agent leaves in a pull request: its account, a text at the end of the body, or both.

    ``share`` is how many pull requests in 1,200 tickets carry it.
    """

    agent: str
    share: int
    account: Account | None = None
    text: str = ""


def _app(login: str) -> Account:
    return Account(login, is_app=True)


_CLAUDE_LINE = "🤖 Generated with [Claude Code](https://claude.com/claude-code)"
_CLAUDE_TRAILER = "Co-Authored-By: Claude <noreply@anthropic.com>"

TRACES = (
    Trace("copilot", 9, account=_app("copilot-swe-agent")),
    Trace("claude", 2, account=_app("claude")),
    Trace("claude", 5, text=f"{_CLAUDE_LINE}\n\n{_CLAUDE_TRAILER}"),
    Trace("claude", 2, text="Co-Authored-By: Claude Opus <noreply@anthropic.com>"),
    Trace("claude", 1, text=_CLAUDE_LINE.replace("claude.com", "claude.ai").replace("🤖 ", "")),
    Trace("devin", 3, account=_app("devin-ai-integration")),
    Trace("devin", 2, text="Link to Devin run: https://app.devin.ai/sessions/{hash}"),
    Trace("cursor", 3, account=_app("cursor"), text="<!-- CURSOR_SUMMARY -->"),
    Trace("cursor", 3, text="Co-authored-by: Cursor <cursoragent@cursor.com>"),
    Trace("codex", 4, text="https://chatgpt.com/codex/tasks/task_e_{hash}"),
    Trace(
        "jules",
        3,
        account=_app("google-labs-jules"),
        text="PR created automatically by Jules for task [{count}](https://jules.google.com/task/{count})",
    ),
    Trace("aider", 2, text="Co-authored-by: aider (gpt) <noreply@aider.chat>"),
)


@dataclass(frozen=True, slots=True)
class FalseFriend:
    """A pull request that names an agent's word without any agent: no trace to count."""

    kind: str
    share: int
    title: str = ""
    text: str = ""
    account: Account | None = None


FALSE_FRIENDS = (
    FalseFriend(
        "bump", 2, title="Bump @openai/codex from {older} to {version}", account=DEPENDABOT
    ),
    FalseFriend(
        "bump",
        2,
        title="Update dependency @anthropic-ai/claude-code to v{version}",
        account=RENOVATE,
    ),
    FalseFriend("path", 2, title="Ignore .codex/ and .cursor/ in the {part}"),
    FalseFriend("person", 2, account=Account("claude-fournier")),
    FalseFriend(
        "person", 2, text="Co-authored-by: Claude Fournier <claude.fournier@lattice.example>"
    ),
    FalseFriend(
        "person", 1, text="Thanks to Devin for the review.", account=Account("devin-okafor")
    ),
    FalseFriend(
        "text cursor",
        2,
        title="Keep the cursor in place while typing in the {part}",
        text="The cursor jumped to the end of the line.",
    ),
)

HUMAN_TRAILER = "Co-authored-by: {name} <{login}@lattice.example>"
