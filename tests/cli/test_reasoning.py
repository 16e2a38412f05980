"""``fastrecall eval --reasoning``: an arm more, only when asked for, with its failures told."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import FAKE, Run, assert_told
from tests.cli.test_code import settings_for, without_timings
from tests.fake_llm import answer, error, fake_server

ARM = "hybrid_reasoning"


def test_the_arm_is_there_only_when_it_is_asked_for(run: Run, folder: Path) -> None:
    record = json.loads(run("eval", folder, *FAKE, "--json").out)
    assert "reasoning" not in record
    assert all(ARM not in block["arms"] for block in record["protocols"].values())
    assert ARM not in record["settings"]["arms"]
    assert_told(run("eval", folder, *FAKE, "--arm", ARM), "asks a language model", "--reasoning")
    assert_told(run("eval", folder, *FAKE, "--reasoning"), "no language model is set")


def test_the_model_reads_titles_and_bodies_and_reorders_the_hybrid_list(
    run: Run, folder: Path, tmp_path: Path
) -> None:
    with fake_server(answer("[2]")) as server:
        config = settings_for(server.url, tmp_path)
        args = ("--config", config, "eval", folder, *FAKE, "--reasoning", "--no-cache")
        shown = run(*args, "--protocol", "published")
        asked = len(server.bodies)
        record = json.loads(run(*args, "--json").out)
    assert asked == 3
    prompts = [body["messages"][1]["content"] for body in server.bodies[:asked]]
    assert sorted(prompt.partition("\n")[0] for prompt in prompts) == [
        "Query: Symptom 1", "Query: Symptom 2", "Query: Symptom 3",
    ]  # fmt: skip
    assert all("PR #11: Change 1\nCloses #1\n" in prompt for prompt in prompts)
    assert "hybrid + reasoning over hybrid: " in shown.out
    assert "reasoning: 0 of 3 calls failed" in shown.out

    # The second becomes the first, all others follow as they stood.
    moved = {2: 1, 1: 2}
    for row in record["queries"]:
        ranks = row["ranks"]["published"]
        assert ranks[ARM] == moved.get(ranks["hybrid"], ranks["hybrid"])
    arms = record["protocols"]["published"]["arms"]
    assert arms[ARM]["mean_output"] == arms["hybrid"]["mean_output"] == 6
    # Shuffled links change nothing that the model sees: its answers are not asked for again.
    assert "shuffled" in record["protocols"]
    assert record["reasoning"]["calls"] == len(server.bodies) - asked == 6
    assert record["reasoning"]["settings"]["final_top_k"] == 32
    assert {"mcnemar_p", "ci95"} <= record["gain"]["published"]["reasoning"].keys()


def test_failures_are_counted_and_a_recorded_run_repeats(
    run: Run, folder: Path, tmp_path: Path
) -> None:
    kept, page = tmp_path / "kept.jsonl", tmp_path / "page.html"
    where = ("eval", folder, *FAKE, "--protocol", "published", "--protocol", "leave-one-out")
    with fake_server(answer("[3]"), error(500), answer("prose")) as server:
        config = settings_for(server.url, tmp_path)
        live = run("--config", config, *where, "--no-cache", "--record", kept, "--json")
        assert live.code == 0, live.err
        assert_told(
            run("--config", config, *where, "--on-rerank-error", "fail", "--no-cache"),
            "reasoning failed for 'Symptom 1': prose",
        )
    told = "reasoning: 5 of 6 calls failed (prose 4, server error 1)"
    assert told in live.err
    again = run("--config", config, *where, "--replay", kept, "--json", "--html", page)
    assert without_timings(again.out) == without_timings(live.out)
    assert told in page.read_text("utf-8")
    assert_told(
        run("--config", config, *where, "--replay", kept, "--protocol", "past-only"), "past-only"
    )
