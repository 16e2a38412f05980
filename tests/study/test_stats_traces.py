"""Traces of coding agents: what each one leaves, and what only looks like it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fastrecall.corpus.build import make_corpus
from fastrecall.corpus.demo import demo_records, planted
from fastrecall.corpus.load import corpus_from_records
from fastrecall.errors import InputError
from fastrecall.study.stats import find_traces, load_rules
from fastrecall.study.stats.traces import Traces
from fastrecall.types import Corpus, Ticket

BY = "Co-Authored-By: "


def traces(title: str = "Fix", body: str = "", *, rules: Path | None = None, **more) -> Traces:
    corpus = make_corpus([Ticket("a/b", "pr", 7, title, body, 0, **more)], name="a/b")
    return find_traces(corpus, load_rules(rules))


def numbered(corpus: Corpus, by: dict[str, list[int]]) -> dict[str, tuple[int, ...]]:
    tickets = corpus.tickets
    return {key: tuple(sorted(tickets[n].number for n in nodes)) for key, nodes in by.items()}


@pytest.mark.parametrize(("nodes", "seed"), [(1200, 1065), (120, 3), (4000, 7)])
def test_the_demo_has_exactly_what_was_planted(nodes: int, seed: int) -> None:
    issues, prs = demo_records(nodes=nodes, seed=seed)
    truth = planted(nodes=nodes, seed=seed)
    corpus = corpus_from_records(
        issues, prs, name="demo", window_prs=None, window_issues=None, author_filter=None
    )
    found = find_traces(corpus, load_rules())
    assert numbered(corpus, found.accounts) == truth.agent_accounts
    assert numbered(corpus, found.texts) == truth.agent_texts
    assert numbered(corpus, found.automation) == truth.bot_prs
    friends = {number for numbers in truth.false_friends.values() for number in numbers}
    traced = {corpus.tickets[node].number for node in found.of_agents()}
    assert not friends & traced


@pytest.mark.parametrize(
    ("agent", "more"),
    [
        ("copilot", {"author": "copilot-swe-agent"}),
        ("copilot", {"author": "Copilot", "is_bot": True}),
        ("copilot", {"head": "copilot/fix-123"}),
        ("copilot", {"body": f"{BY}Copilot <175728472+Copilot@users.noreply.github.com>"}),
        ("claude", {"author": "claude", "is_bot": True}),
        ("claude", {"body": f"text\r\n\r\n{BY}Claude Opus 4 <noreply@anthropic.com>\r\n"}),
        ("claude", {"body": "🤖 Generated with [Claude Code](https://claude.com/claude-code)"}),
        ("claude", {"body": "Generated with [Claude Code](https://claude.ai/code)"}),
        ("claude", {"body": "Claude-Session: 0123"}),
        ("devin", {"author": "devin-ai-integration"}),
        ("devin", {"body": "Link to Devin run: https://app.devin.ai/sessions/12ab"}),
        ("devin", {"head": "devin/1700000000-fix"}),
        ("cursor", {"author": "cursor", "is_bot": True}),
        ("cursor", {"body": "<!-- CURSOR_SUMMARY -->\n> summary"}),
        ("cursor", {"body": "Co-authored-by: Cursor <cursoragent@cursor.com>"}),
        ("cursor", {"body": "See https://cursor.com/agents?id=1"}),
        ("cursor", {"head": "cursor/fix-the-login-1a2f"}),
        ("codex", {"title": "[codex] Fix it"}),
        ("codex", {"head": "codex/fix-it"}),
        ("codex", {"body": "https://chatgpt.com/codex/tasks/task_e_1"}),
        ("codex", {"body": "https://chatgpt.com/codex/cloud/tasks/task_e_1"}),
        ("jules", {"author": "google-labs-jules"}),
        ("jules", {"body": "*PR created*\n\nPR created automatically by Jules for task [1](x)"}),
        ("jules", {"head": "jules-1234567890"}),
        ("aider", {"title": "aider: rename it"}),
        ("aider", {"commits": ("Author: Ann (aider) <ann@example.org>\n\nFix",)}),
        ("aider", {"commits": ("Author: Ann <ann@example.org>\n\naider: fix",)}),
        ("aider", {"commits": (f"Author: A <a@b.c>\n\nx\n\n{BY}aider <noreply@aider.chat>",)}),
    ],
)  # fmt: skip
def test_each_trace_is_seen(agent: str, more: dict) -> None:
    found = traces(**more)
    assert [*found.accounts, *found.texts] == [agent]
    assert found.automation == {}


@pytest.mark.parametrize(
    "more",
    [
        {"title": "Bump @openai/codex from 0.1 to 0.2"},
        {"title": "Update @anthropic-ai/claude-code", "body": "Claude Code is updated."},
        {"title": "Ignore .codex/ and .cursor/", "body": "Adds `.codex/` and `.claude/`."},
        {"author": "claude-fournier"},
        {"author": "claude"},
        {"author": "cursor"},
        {"author": "devin"},
        {"body": "Co-authored-by: Claude Fournier <claude@example.org>"},
        {"body": "Co-authored-by: Devin Okafor <devin@example.org>"},
        {"body": "Thanks to Devin and Jules for the review."},
        {"title": "Keep the cursor in place", "body": "The cursor jumped."},
        {"head": "cursor/position"},
        {"head": "devin/wip"},
        {"head": "feature/codex/parser"},
        {"body": "> Co-Authored-By: Claude <noreply@anthropic.com>"},
        {"body": "```\nCo-Authored-By: Claude <noreply@anthropic.com>\n```"},
        {"body": "We drop the line `Generated with [Claude Code](https://claude.ai/code)`."},
        {"body": "It was generated with [Claude Code](https://claude.com/claude-code), they say."},
        {"body": "No more aider: it is gone."},
        {"body": "The address noreply@anthropic.com bounces; claude does not mind."},
    ],
)
def test_what_only_looks_like_a_trace_is_not_counted(more: dict) -> None:
    found = traces(**more)
    assert found.of_agents() == []


@pytest.mark.parametrize("author", ["dependabot", "renovate", "github-actions", "lattice-bot"])
def test_automation_that_quotes_agents_stays_apart(author: str) -> None:
    body = "Release notes:\n\nCo-Authored-By: Claude <noreply@anthropic.com>"
    found = traces("Bump", body, author=author)
    assert found.of_agents() == []
    assert list(found.automation) == [author]


def test_a_person_whose_name_ends_in_bot_is_a_person() -> None:
    assert traces(author="talbot").automation == {}
    assert traces(author="talbot", is_bot=True).automation == {"talbot": [0]}


def test_issues_are_not_asked() -> None:
    ticket = Ticket("", "issue", 1, "A", "Claude-Session: 1", 0, author="claude", is_bot=True)
    assert find_traces(make_corpus([ticket], name="x"), load_rules()).of_agents() == []


# What users add.


def write(folder: Path, text: str) -> Path:
    path = folder / "more.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_adds_agents_marks_and_accounts(tmp_path: Path) -> None:
    rules = write(
        tmp_path,
        "[automation]\naccounts = ['House']\n"
        "[agents.house]\ntitle = 'House agent'\nlines = ['^made by house']\n"
        "[agents.claude]\nlines = ['^written with claude$']\n",
    )
    assert list(traces(body="Made by House", rules=rules).texts) == ["house"]
    assert list(traces(body="Written with Claude", rules=rules).texts) == ["claude"]
    assert list(traces(body="Claude-Session: 1", rules=rules).texts) == ["claude"]
    assert list(traces(author="house", rules=rules).automation) == ["house"]
    assert load_rules(rules).sources == ("built in", "more.toml")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[agents.x", "not valid TOML"),
        ("[agents.x]\nlins = ['a']", "more.toml: unknown key agents.x.lins; known: title"),
        ("[agent.x]\nlines = ['a']", "unknown key agent; known: agents, automation"),
        ("[automation]\nbots = ['a']", "unknown key automation.bots"),
        ("[agents.x]\nlines = 'a'", "agents.x.lines is no list of texts"),
        ("[agents.x]\nlines = ['(']", "is no regular expression"),
        ("agents = 3", "agents is no table"),
        ("[agents]\nx = 3", "agents.x is no table"),
        ("[agents.x]\ntitle = 3", "agents.x.title is no text"),
    ],
)
def test_a_file_that_cannot_be_used_is_told(tmp_path: Path, text: str, sentence: str) -> None:
    import re

    with pytest.raises(InputError, match=re.escape(sentence)):
        load_rules(write(tmp_path, text))


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        load_rules(tmp_path / "nothing.toml")
