"""``fastrecall index``, ``search`` and ``hook``, as a user meets them."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.children import environment
from tests.cli.conftest import Run


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FASTRECALL_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def indexed(run: Run, folder: Path) -> Path:
    assert run("index", folder, "--model", "fake").code == 0
    return folder


def test_index_tells_what_it_built(run: Run, folder: Path, data: Path) -> None:
    code, out, _ = run("index", folder, "--model", "fake")
    assert code == 0
    assert out.startswith("corpus: 3 issues, 3 PRs, 3 closing links, ")
    told = json.loads(run("index", folder, "--model", "fake", "--json").out)
    assert told["nodes"] == 6
    assert Path(told["folder"]).parent == data / "indexes"


def test_answers_are_ranked_with_their_origin(run: Run, indexed: Path) -> None:
    code, out, err = run("search", "Symptom 2", indexed, "-k", 2)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == " 1 PR #12  Change 2"
    assert lines[1] == "   2024-02-02; semantic 1, bm25 1; closes #2"
    assert lines[2] == " 2 issue #2  Symptom 2"
    assert lines[3] == "   2024-01-02; semantic 1, bm25 1"


def test_an_answer_that_another_ticket_led_to_says_so(run: Run, folder: Path) -> None:
    issues = [
        {"number": 100 + n, "createdAt": "2024-01-05T00:00:00Z", "title": f"Panel {n} is red"}
        for n in range(30)
    ]
    issues.append({**issues[0], "number": 99, "title": "The parser hangs on an empty key"})
    prs = [
        {**issue, "number": 100 + issue["number"], "title": f"Bump {n}"}
        for n, issue in enumerate(issues[:30])
    ]
    prs.append({**prs[0], "number": 98, "title": "Rework", "body": "Closes #99"})
    (folder / "issues.json").write_text(json.dumps(issues))
    (folder / "prs.json").write_text(json.dumps(prs))
    run("index", folder, "--model", "fake")
    code, out, _ = run("search", "The parser hangs on an empty key", folder, "--explain", "-k", 2)
    assert code == 0
    assert "; closes #99 ← asked-like issue #99 (semantic 1, bm25 1)\n" in out
    own, lent = out.split(" 2 PR #98  Rework\n")[1].splitlines()[1:]
    assert own.startswith("   itself: cosine ")
    assert lent.startswith("   by way: cosine 1.000 bm25 ")
    assert float(lent.split("evidence ")[1]) - 1 > float(own.split("evidence ")[1])


def test_json_holds_the_same(run: Run, indexed: Path) -> None:
    told = json.loads(run("search", "Symptom 2", indexed, "--kind", "pr", "--json").out)
    assert told["corpus"]["nodes"] == 6
    assert told["answers"][0]["id"] == "pr #12"
    assert told["answers"][0]["closes"] == ["issue #2"]
    assert {"via", "semantic", "cosine", "bm25", "bm25_score", "evidence"} < set(told["answers"][0])
    assert told["ranked_by"] == "best"


def test_filters_are_days_months_and_years(run: Run, indexed: Path) -> None:
    def ids(*options: object) -> set[str]:
        out = run("search", "Symptom 2", indexed, "--json", *options).out
        return {one["id"] for one in json.loads(out)["answers"]}

    assert ids("--until", "2024-01-02") == {"issue #1", "issue #2"}
    assert ids("--since", "2024-02") == {"pr #11", "pr #12", "pr #13"}
    assert ids("--since", "2024-01-03", "--until", "2024-02-01") == {"issue #3", "pr #11"}
    assert ids("--author", "ann", "--kind", "issue") == set()


def test_a_filter_that_lets_nothing_through_says_so(run: Run, indexed: Path) -> None:
    code, out, err = run("search", "Symptom 2", indexed, "--since", "2030")
    assert (code, out) == (0, "")
    assert "no ticket passes the filters" in err


def test_nothing_close_is_said_and_explained(run: Run, indexed: Path) -> None:
    code, out, err = run("search", "zzz qqq xxx", indexed, "--explain")
    assert (code, out) == (0, "")
    assert err.startswith("Nothing close: the nearest ticket has a cosine of")
    assert "close is from" in err


def test_a_corpus_without_index_gets_one(run: Run, folder: Path) -> None:
    _, out, err = run("search", "Symptom 2", folder, "--model", "fake")
    assert "has no index yet" in err
    assert " 2 issue #2  Symptom 2" in out
    assert run("search", "Symptom 2", folder).err == ""


def test_a_corpus_that_changed_is_told(run: Run, indexed: Path) -> None:
    place = indexed / "an index"
    run("index", indexed, "--model", "fake", "--out", place)
    (indexed / "prs.json").write_text("[]")
    told = f"prs.json has changed since it was indexed; run: fastrecall index {indexed}"
    assert run("search", "Symptom", indexed).err.endswith(f"{told}\n")
    assert run("search", "Symptom", "--index", place).err.endswith(f"{told} --out '{place}'\n")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["search", "x", "nowhere/at-all"], "was not fetched"),
        (["search", "x", "demo", "--since", "yesterday"], "is no date; expected YYYY-MM-DD"),
        (["search", "x", "--index", "nowhere"], "there is no index"),
        (["search", " "], "the question is empty"),
        (["search", " ", "--code", "."], "the question is empty"),
        (["search", "x", "demo", "--index", "nowhere"], "either CORPUS or --index"),
        (["search", "x", "--code", ".", "--kind", "pr"], "--kind is of tickets"),
        (["search", "x", "demo", "--code", "."], "CORPUS is of tickets"),
        (["serve", "demo"], "build it first: fastrecall index demo\n"),
        (["serve", "demo", "--index", "an ix"], "fastrecall index demo --out 'an ix'\n"),
        (["hook", "--index", "ix", "--memory", "m"], "fastrecall index CORPUS --out ix\n"),
    ],
)
def test_bad_input_gets_one_sentence(run: Run, options: list[str], said: str) -> None:
    code, out, err = run(*options)
    assert (code, out) == (1 if "hook" in options else 2, "")
    assert said in err
    assert [line[:7] for line in err.splitlines()][-1] == "error: "
    assert "Traceback" not in err


def test_an_index_of_another_model_is_refused(run: Run, indexed: Path) -> None:
    code, _, err = run("search", "Symptom", indexed, "--model", "minilm")
    assert code == 2
    assert "made with another model" in err


def test_hostile_titles_are_shown_harmless(run: Run, tmp_path: Path) -> None:
    place = tmp_path / "hostile"
    place.mkdir()
    title = "safe\u202egnp.exe \x1b[31mred"
    issue = {"number": 1, "title": title, "createdAt": "2024-01-01T00:00:00Z"}
    issue |= {"state": title, "stateReason": title, "url": title}
    (place / "issues.json").write_text(json.dumps([issue]))
    run("index", place, "--model", "fake")
    out = run("search", "safe exe red", place).out
    assert "safe" in out
    assert "\u202e" not in out
    assert "\x1b" not in out


def hook(run: Run, monkeypatch: pytest.MonkeyPatch, corpus: Path, event: object) -> tuple[int, str]:
    text = event if isinstance(event, str) else json.dumps(event)
    stdin = io.TextIOWrapper(io.BytesIO(text.encode()), "utf-8")
    monkeypatch.setattr(sys, "stdin", stdin)
    outcome = run("hook", corpus)
    return outcome.code, outcome.out


def test_the_hook_prints_context_for_a_prompt_that_the_past_knows(
    run: Run, indexed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = {"hook_event_name": "UserPromptSubmit", "prompt": "why is there Symptom 2 again"}
    code, out = hook(run, monkeypatch, indexed, event)
    assert code == 0
    context = json.loads(out)["hookSpecificOutput"]
    assert context["hookEventName"] == "UserPromptSubmit"
    assert "issue #2" in context["additionalContext"]
    assert "never instructions" in context["additionalContext"]


@pytest.mark.parametrize("prompt", ["go on", "zzzz qqqq xxxx jjjj"])
def test_the_hook_is_silent_when_there_is_nothing_to_say(
    run: Run, indexed: Path, monkeypatch: pytest.MonkeyPatch, prompt: str
) -> None:
    assert hook(run, monkeypatch, indexed, {"prompt": prompt}) == (0, "")


@pytest.mark.parametrize("event", ["", "[]", "{}", "not json"])
def test_a_hook_that_fails_does_not_stop_the_prompt(
    run: Run, indexed: Path, monkeypatch: pytest.MonkeyPatch, event: str
) -> None:
    assert hook(run, monkeypatch, indexed, event) == (1, "")


@pytest.mark.parametrize("arguments", [("--nonsense",), ("a", "b"), ("nowhere/at-all",)])
def test_a_hook_that_is_called_wrongly_does_not_stop_the_prompt_either(
    run: Run, arguments: tuple[str, ...]
) -> None:
    code, out, err = run("hook", *arguments)
    assert (code, out) == (1, "")
    assert err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
def test_a_hook_whose_answer_is_not_taken_does_not_stop_the_prompt(
    run: Run, indexed: Path, data: Path
) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "fastrecall", "hook", str(indexed)],
            input='{"prompt": "why is there Symptom 2 again"}',
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(FASTRECALL_DATA=str(data)),
        )
    assert done.returncode == 1
    assert done.stderr == "error: cannot write the output: No space left on device\n"


def test_searching_loads_neither_pyarrow_nor_rich(indexed: Path, data: Path) -> None:
    code = (
        "import sys\nfrom fastrecall.cli.app import main\n"
        f"try:\n    main(['search', 'Symptom', {str(indexed)!r}])\nexcept SystemExit:\n    pass\n"
        "print([name for name in ('pyarrow', 'rich', 'httpx', 'mcp') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "FASTRECALL_DATA": str(data)},
    )
    assert done.stdout.splitlines()[-1] == "[]"
