"""``fastrecall code-eval``, ``code-sweep`` and ``grep`` as a user meets them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import FAKE, Run, assert_told
from tests.fake_llm import answer, error, fake_server

from fastrecall.config import default_text
from fastrecall.corpus.code import load_code
from fastrecall.embedding import embed
from fastrecall.search.code import CodeIndex

BY_HAND = Path(__file__).parent.parent / "search" / "exchanges_by_hand.jsonl"

PLACES = {"fused": 3, "fenced": 1, "agreed": 4, "prose": 2, "failed": 5}
"""Where the answer of each query by hand stands in the hybrid order."""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Five functions, and prose that is no candidate."""
    place = tmp_path / "tree"
    place.mkdir()
    for name in ("alpha", "bravo", "charlie", "delta", "echo"):
        text = f"fn {name}() {{\n    {name}_body(1).unwrap();\n}}\n"
        (place / f"{name}.rs").write_text(text)
    (place / "README.md").write_text("# Alpha\n\nfused fenced agreed\n")
    return place


@pytest.fixture
def by_hand(tree: Path, tmp_path: Path) -> Path:
    """Gold whose answers stand at `PLACES` in the hybrid order."""

    def fake(texts: Any, *, kind: Any) -> Any:
        return embed(texts, model="fake", cache=False, kind=kind)

    corpus = load_code(tree)
    found = CodeIndex.build(corpus, fake).search(list(PLACES), 5)["hybrid"].ids
    lines = [
        f"{query},{corpus.chunks[row[place - 1]].where}:2"
        for (query, place), row in zip(PLACES.items(), found, strict=True)
    ]
    return write_gold(tmp_path, *lines)


def write_gold(folder: Path, *lines: str) -> Path:
    file = folder / "queries.csv"
    file.write_text("\n".join(["query,result1", *lines]) + "\n")
    return file


def settings_for(url: str, folder: Path, *more: tuple[str, str]) -> Path:
    """A settings file that names the fake server."""
    text = default_text()
    for old, new in (
        ('model = ""', 'model = "ollama:m"'),
        ('base_url = ""', f'base_url = "{url}"'),
        ("retries = 3", "retries = 0"),
        *more,
    ):
        assert text.count(old) == 1
        text = text.replace(old, new)
    file = folder / "settings.toml"
    file.write_text(text)
    return file


def without_timings(text: str) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(text)
    del record["timings"]
    return record


@pytest.mark.parametrize(
    ("fusion", "ranks"),
    [
        # cabde: the answer is c; beacd: a; abcde: d; prose and a timeout leave abcde: b, e.
        ("weighted", [1, 3, 4, 2, 5]),
        # ca, eb (a is lost), abcde, and the same failures.
        ("pure", [1, None, 4, 2, 5]),
    ],
)
def test_exchanges_by_hand_give_the_ranks_worked_out_by_hand(
    run: Run, tree: Path, by_hand: Path, fusion: str, ranks: list[int | None]
) -> None:
    where = ("code-eval", tree, "--queries", by_hand, *FAKE, "--replay", BY_HAND)
    code, out, err = run(*where, "--fusion", fusion, "--json")
    assert code == 0, err
    record = json.loads(out)
    rows = {row["query"]: row["ranks"]["code"] for row in record["queries"]}
    assert {query: row["hybrid"] for query, row in rows.items()} == PLACES
    assert [rows[query]["hybrid_reasoning"] for query in PLACES] == ranks
    arm = record["protocols"]["code"]["arms"]["hybrid_reasoning"]
    assert arm["mrr"] == pytest.approx(sum(1 / rank for rank in ranks if rank) / 5)
    assert "reasoning: 2 of 5 calls failed (prose 1, timeout 1)" in err
    assert "reasoning: 2 of 5 calls failed (prose 1, timeout 1)" in run(*where).out


def test_without_the_reasoning_step_there_is_no_trace_of_it(
    run: Run, tree: Path, by_hand: Path
) -> None:
    code, out, err = run("code-eval", tree, "--queries", by_hand, *FAKE)
    assert code == 0, err
    assert "5 candidates of 6 chunks" in out
    assert "hybrid over semantic, Hit@5" in out
    assert "reasoning" not in out
    more = run("code-eval", tree, "--queries", by_hand, *FAKE, "--include", "all").out
    assert "6 candidates of 6 chunks" in more


def test_misses_tell_what_was_expected_and_what_came(run: Run, tree: Path, by_hand: Path) -> None:
    args = ("code-eval", tree, "--queries", by_hand, *FAKE, "--replay", BY_HAND)
    out = run(*args, "--fusion", "pure", "--misses").out
    assert "missed by hybrid_reasoning: fenced\n  expected " in out
    assert "\n  came     " in out
    assert "missed by" not in run(*args, "--misses").out


def test_a_recorded_run_is_repeated_without_a_server(
    run: Run, tree: Path, by_hand: Path, tmp_path: Path
) -> None:
    kept = tmp_path / "exchanges.jsonl"
    where = ("code-eval", tree, "--queries", by_hand, *FAKE, "--json")
    with fake_server(answer("[2]"), answer("[3, 1]"), error(503), answer("nothing")) as server:
        config = settings_for(server.url, tmp_path)
        live = run("--config", config, *where, "--reasoning", "--no-cache", "--record", kept)
        assert live.code == 0, live.err
        assert len(server.bodies) == 5
        stopped = run("--config", config, *where, "--on-rerank-error", "fail", "--no-cache")
        assert_told(stopped, "reasoning failed for 'fused': prose", "--on-rerank-error keep")
        assert run("--config", config, *where, "--no-reasoning").code == 0
        asked = len(server.bodies)
    assert "reasoning: 3 of 5 calls failed (prose 2, server error 1)" in live.err
    record = json.loads(live.out)
    assert record["reasoning"]["input_tokens"] == 400
    assert sum("reasoning_failed" in row for row in record["queries"]) == 3
    again = run("--config", config, *where, "--replay", kept)
    assert len(server.bodies) == asked
    assert without_timings(again.out) == without_timings(live.out)
    # The file is for these settings and this tree.
    (tree / "alpha.rs").write_text("fn other() {}\n")
    assert_told(run("--config", config, *where, "--replay", kept), "recorded for another prompt")


def test_the_settings_file_can_turn_the_reasoning_step_on(
    run: Run, tree: Path, by_hand: Path, tmp_path: Path
) -> None:
    with fake_server(answer("[1]")) as server:
        config = settings_for(server.url, tmp_path, ("enabled = false", "enabled = true"))
        where = ("--config", config, "code-eval", tree, "--queries", by_hand, *FAKE)
        assert "reasoning: 0 of 5 calls failed" in run(*where).out
        assert "reasoning" not in run(*where, "--no-reasoning").out
        kept = tmp_path / "kept.jsonl"
        paid_before = run(*where, "--record", kept)
        assert "0 input and 0 output tokens; 5 from the cache" in paid_before.out
        assert run(*where, "--replay", kept).out == paid_before.out
        assert_told(run(*where, "--no-reasoning", "--fusion", "pure"), "--fusion needs")
    assert len(server.bodies) == 5


def test_descriptions_are_asked_for_once_and_of_candidates_only(
    run: Run, tree: Path, by_hand: Path, tmp_path: Path
) -> None:
    with fake_server(answer('{"summary": "It does the thing."}')) as server:
        config = settings_for(server.url, tmp_path, ('descriptions = "off"', 'descriptions = "on"'))
        where = ("--config", config, "code-eval", tree, "--queries", by_hand, *FAKE, "--json")
        record = json.loads(run(*where).out)
        run(*where)
    assert len(server.bodies) == 5
    assert record["settings"]["descriptions"] is True


def test_records_of_code_search_are_compared_and_gated(
    run: Run, tree: Path, by_hand: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    where = ("code-eval", tree, "--queries", by_hand, *FAKE, "--replay", BY_HAND)
    run(*where, "--out", first)
    told = run(*where, "--fusion", "pure", "--out", second, "--baseline", first)
    assert told.code == 1
    assert "FAIL: change of hits[code/hybrid_reasoning] against the baseline" in told.err
    assert " of other settings (reasoning fusion) is -0.2" in told.err
    assert "pass: change of hits[code/hybrid]" in told.err
    compared = run("compare", first, second)
    assert compared.code == 0
    assert "setting reasoning fusion: weighted → pure" in compared.out
    assert "code, hybrid + reasoning: 1 query lost\n  fenced" in compared.out

    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    gates = ("mrr[hybrid_reasoning]=0.4", "ndcg@10[hybrid]=0.3", "hit@7[hybrid]=1")
    passed = run(*where, *(part for gate in gates for part in ("--fail-under", gate)))
    assert passed.code == 0, passed.err
    assert passed.err.count("pass: ") == 3
    assert "| hybrid + reasoning | 0.457 [" in summary.read_text("utf-8")
    junit = tmp_path / "junit.xml"
    failed = run(
        *where, "--fail-under", "recall@5[hybrid]=1", "--bound", "lower", "--junit", junit,
        "--fail-under", "mrr[hybrid]=0.9",
    )  # fmt: skip
    assert failed.code == 1
    assert 'failures="1"' in junit.read_text("utf-8")
    unknown = run(*where, "--fail-under", "map[hybrid]=0.5")
    assert unknown.code == 2
    assert "metric 'map' is not in the record; known: hit@k, mrr, ndcg@10" in unknown.err


def test_markdown_and_one_query_alone(run: Run, tree: Path, tmp_path: Path) -> None:
    gold = write_gold(tmp_path, "alpha,alpha.rs:1-3:2")
    file = tmp_path / "table.md"
    code, _, err = run(
        "code-eval", tree, "--queries", gold, *FAKE, "--markdown", file,
        "--out", tmp_path / "r.json", "--fail-under", "mrr[bm25]=0.5", "--bound", "lower",
    )  # fmt: skip
    assert code in (0, 1), err
    assert file.read_text("utf-8").startswith("## Code search: tree\n\n1 query (queries.csv)")


@pytest.mark.parametrize(
    ("args", "parts"),
    [
        (("--queries", "none.csv"), ("cannot read gold file none.csv",)),
        (("--commit", "v1"), ("tree",)),
        (("--include", "prose"), ("--include", "'code', 'all'")),
        (("--fusion", "sum"), ("--fusion", "'weighted', 'pure'")),
        (("--reasoning",), ("no language model is set", "search.reasoning.model")),
        (("--replay", "none.jsonl"), ("cannot read recorded exchanges none.jsonl",)),
        (("--model", "fakee"), ("did you mean fake",)),
    ],
)
def test_bad_options_of_code_eval(
    run: Run, tree: Path, by_hand: Path, args: tuple[str, ...], parts: tuple[str, ...]
) -> None:
    model = () if "--model" in args else FAKE
    queries = () if "--queries" in args else ("--queries", by_hand)
    assert_told(run("code-eval", tree, *queries, *model, *args), *parts)


def test_a_missing_tree_and_a_bad_gold_line(run: Run, tree: Path, tmp_path: Path) -> None:
    gold = write_gold(tmp_path, "where,alpha.rs")
    assert_told(run("code-eval", tree, "--queries", gold), "line 2: result 'alpha.rs'")
    gold = write_gold(tmp_path, "where,alpha.rs:1-2:1")
    assert_told(run("code-eval", tmp_path / "no", "--queries", gold), "no does not exist")
    assert_told(run("code-eval", tree), "--queries")


# ---------------------------------------------------------------- code-sweep


@pytest.fixture
def judged(tree: Path, tmp_path: Path) -> Callable[[int], tuple[object, ...]]:
    """A function (how many answers are wrong) → arguments of a sweep over 12 queries."""
    names = [f"name{number}" for number in range(12)]
    for name in names:
        (tree / f"{name}.rs").write_text(f"fn {name}() {{\n    body_of({name});\n}}\n")
    gold = write_gold(tmp_path, *(f"{name},{name}.rs:1-3:2" for name in names))

    def make(wrong: int) -> tuple[object, ...]:
        # The right chunk is first in the hybrid order: a judge that lists six others buries it.
        answers = ["[2,3,4,5,6,7]" if at < wrong else "[1]" for at in range(len(names))]
        lines = [{"query": q, "content": a} for q, a in zip(names, answers, strict=True)]
        file = tmp_path / f"{wrong}.jsonl"
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return ("code-sweep", tree, "--queries", gold, *FAKE, "--replay", file)

    return make


def test_a_sweep_says_which_difference_is_noise(
    run: Run, judged: Callable[[int], tuple[object, ...]], tmp_path: Path
) -> None:
    grid = ("--grid", "reasoning_weight=0,2,3")
    code, out, err = run(*judged(2), *grid, "--folder", tmp_path / "kept")
    assert code == 0, err
    assert "reasoning_weight=0.0" in out
    assert "noise: +16.7 points" in out
    assert "2 of 2 settings differ from the base by no more than chance would (noise)" in out
    assert {path.name for path in (tmp_path / "kept").iterdir()} == {
        "base.json", "reasoning_weight=0.0.json", "reasoning_weight=3.0.json",
    }  # fmt: skip
    rows = json.loads(run(*judged(12), *grid, "--json").out)
    assert [(row["point"], row["hits"], row["verdict"]) for row in rows] == [
        ("base", 0, "base"),
        ("reasoning_weight=0.0", 12, "differs"),
        ("reasoning_weight=3.0", 0, "noise"),
    ]


@pytest.mark.parametrize(
    ("grid", "parts"),
    [
        ("weight=1", ("axis 'weight' is unknown", "reasoning_weight")),
        ("temperature=3", ("temperature=3", "temperature is 3; expected 0 to 2")),
        ("max_candidates=1.5", ("max_candidates is 1.5; expected a whole number",)),
        ("context_level=all", ("expected one of full, snippets, signatures",)),
        ("temperature", ("AXIS=VALUE,VALUE",)),
    ],
)
def test_bad_grids(
    run: Run, judged: Callable[[int], tuple[object, ...]], grid: str, parts: tuple[str, ...]
) -> None:
    assert_told(run(*judged(0), "--grid", grid), *parts)


# ---------------------------------------------------------------- grep


def test_grep_prints_places_in_order(run: Run, tree: Path) -> None:
    (tree / "sub").mkdir()
    (tree / "sub" / "zulu.rs").write_text("fn z() {\n    a(\n        1,\n    ).unwrap();\n}\n")
    code, out, err = run("grep", "$X.unwrap()", tree)
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "alpha.rs:2:5: alpha_body(1).unwrap()"
    assert lines[-1] == "sub/zulu.rs:2:5: a( …"
    assert len(lines) == 6
    assert "6 matches" in err
    rows = json.loads(run("grep", "$X.unwrap()", tree, "--json").out)
    assert rows[-1]["text"] == "a(\n        1,\n    ).unwrap()"
    assert (rows[-1]["line"], rows[-1]["end_line"]) == (2, 4)


def test_grep_tells_nothing_found_from_a_bad_pattern(run: Run, tree: Path) -> None:
    code, out, err = run("grep", "nothing_here($X)", tree, "--language", "rust")
    assert (code, out) == (0, "")
    assert "0 matches" in err
    assert_told(run("grep", "fn (", tree), "cannot be searched as", "syntax error")
    assert_told(run("grep", "x", tree, "--language", "rost"), "rost", "rust")
    assert_told(run("grep", "x", tree / "none"), "none", "does not exist")


def test_search_answers_from_a_source_tree(run: Run, tree: Path) -> None:
    told = run("search", "where is the charlie body", "--code", tree, "--model", "fake", "--json")
    assert told.code == 0
    first = json.loads(told.out)[0]
    assert (first["path"], first["start"], first["end"]) == ("charlie.rs", 1, 3)
    plain = run("search", "charlie", "--code", tree, "--model", "fake", "-k", 2)
    assert plain.out.splitlines()[0].startswith(" 1 charlie.rs:1-3")
    assert "5 chunks" in plain.err
    assert_told(run("search", "charlie", "--code", tree / "nowhere"), "nowhere")
