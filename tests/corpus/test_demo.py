"""The demo corpus repeats itself, and what it plants can be counted in its records."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter, defaultdict
from typing import Any

import pytest

from fastrecall.corpus import find_duplicates, find_links, load_corpus, node_texts
from fastrecall.corpus.demo import DemoTruth, demo_corpus, demo_records, planted
from fastrecall.errors import InputError
from fastrecall.types import Corpus, LinkSource

Record = dict[str, Any]
Records = tuple[list[Record], list[Record]]

RECORDS_SHA256 = "3bcc9e5826099af0b01ed534b357edac6b7e3d1d12889e0008f09ad30d356ffc"
"""Changes whenever a word of the default demo changes; so do the figures that README shows."""

FILTERED = {"app/dependabot", "app/renovate", "app/github-actions"}
PUBLISHED = re.compile(r"\b(?:clos|fix|resolv)\w*\s+#(\d+)", re.IGNORECASE)


def digest(records: Records) -> str:
    return hashlib.sha256(json.dumps(records).encode()).hexdigest()


@pytest.fixture(scope="module")
def records() -> Records:
    return demo_records()


@pytest.fixture(scope="module")
def issues(records: Records) -> list[Record]:
    return records[0]


@pytest.fixture(scope="module")
def prs(records: Records) -> list[Record]:
    return records[1]


@pytest.fixture(scope="module")
def truth() -> DemoTruth:
    return planted()


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return demo_corpus()


@pytest.fixture(scope="module")
def large() -> Records:
    return demo_records(nodes=20_000)


def numbers(records: list[Record]) -> list[int]:
    return [record["number"] for record in records]


def matching(records: list[Record], field: str, pattern: str) -> list[int]:
    found = re.compile(pattern)
    return [r["number"] for r in records if found.search(r[field] or "")]


def published(records: Records) -> list[tuple[int, int]]:
    issues, prs = records
    known = set(numbers(issues))
    return sorted(
        {
            (int(number), pr["number"])
            for pr in prs
            for number in PUBLISHED.findall(pr["body"] or "")
            if int(number) in known
        }
    )


def title_groups(records: list[Record]) -> set[tuple[int, ...]]:
    """Titles that are equal once case, hashes, versions and numbers are put aside."""
    groups = defaultdict(list)
    for record in records:
        title = re.sub(
            r"\b(?=[0-9a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}\b", "#", record["title"].lower()
        )
        groups[re.sub(r"\d+(?:[.-]\d+)*", "#", title)].append(record["number"])
    return {tuple(sorted(group)) for group in groups.values() if len(group) > 1}


# The same everywhere, always.


def test_the_records_are_pinned(records: Records) -> None:
    assert digest(records) == RECORDS_SHA256


@pytest.mark.parametrize("hash_seed", ["0", "12345"])
def test_the_records_do_not_depend_on_hash_order(hash_seed: str) -> None:
    code = (
        "import hashlib, json; from fastrecall.corpus.demo import demo_records\n"
        "print(hashlib.sha256(json.dumps(demo_records()).encode()).hexdigest())"
    )
    out = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        check=True,
        text=True,
    )
    assert out.stdout.strip() == RECORDS_SHA256


def test_another_seed_is_another_history(records: Records) -> None:
    other = demo_records(seed=7)
    assert digest(other) != digest(records)


# The shape of gh's output.


def test_issues_and_prs_share_one_sequence_of_numbers_in_order_of_creation(
    issues: list[Record], prs: list[Record]
) -> None:
    both = sorted(issues + prs, key=lambda record: record["number"])
    assert numbers(both) == list(range(1, 1201))
    times = [record["createdAt"] for record in both]
    assert times == sorted(set(times))
    assert numbers(issues) == sorted(numbers(issues))
    assert numbers(prs) == sorted(numbers(prs))


def test_records_have_the_fields_of_gh(issues: list[Record], prs: list[Record]) -> None:
    stamp = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
    common = {
        "number",
        "createdAt",
        "author",
        "title",
        "body",
        "state",
        "closedAt",
        "labels",
        "url",
    }
    for record in issues + prs:
        only = {"mergedAt", "baseRefName", "closingIssuesReferences"}
        only = only if "mergedAt" in record else {"stateReason", "comments"}
        assert set(record) == common | only
        assert record["title"].strip() == record["title"] != ""
        assert record["body"] is None or isinstance(record["body"], str)
        assert (record["closedAt"] is None) == (record["state"] == "OPEN")
        author = record["author"]
        if author["is_bot"]:
            assert set(author) == {"is_bot", "login"}
            assert author["login"].startswith("app/")
        else:
            assert set(author) == {"id", "is_bot", "login", "name"}
        ends = [record[key] for key in ("closedAt", "mergedAt") if record.get(key)]
        for moment in [record["createdAt"], *ends]:
            assert stamp.fullmatch(moment)
            assert moment >= record["createdAt"]
    assert {issue["state"] for issue in issues} == {"OPEN", "CLOSED"}
    assert {pr["state"] for pr in prs} == {"OPEN", "CLOSED", "MERGED"}
    assert all((pr["state"] == "MERGED") == (pr["mergedAt"] is not None) for pr in prs)
    reasons = {issue["stateReason"] for issue in issues}
    assert reasons == {"", "COMPLETED", "NOT_PLANNED", "DUPLICATE"}


def test_no_slot_of_a_word_list_is_left_open(issues: list[Record], prs: list[Record]) -> None:
    for record in issues + prs:
        assert not re.search(r"\{\w*\}", f"{record['title']} {record['body']}"), record["number"]


def test_bodies_come_in_every_awkward_form(issues: list[Record], prs: list[Record]) -> None:
    for records in (issues, prs):
        bodies = [record["body"] for record in records]
        assert bodies.count(None) > 3
        assert bodies.count("") > 3
        assert sum("\r\n" in (body or "") for body in bodies) > 20
        assert any("```" in (body or "") for body in bodies)
    late = [pr for pr in prs if any(m.start() > 300 for m in PUBLISHED.finditer(pr["body"] or ""))]
    assert late


def test_a_quarter_of_the_issues_is_russian(issues: list[Record], prs: list[Record]) -> None:
    cyrillic = len(matching(issues, "title", "[а-яё]"))
    assert 0.15 * len(issues) < cyrillic < 0.3 * len(issues)
    assert matching(prs, "title", "[а-яё]")


# Links.


def test_there_are_exactly_293_pairs(records: Records, truth: DemoTruth) -> None:
    assert published(records) == list(truth.published_pairs)
    assert len(truth.published_pairs) == 293


def test_filtered_bots_close_nothing(prs: list[Record], truth: DemoTruth) -> None:
    filtered = {pr["number"] for pr in prs if pr["author"]["login"] in FILTERED}
    assert filtered
    assert filtered.isdisjoint(pr for _, pr in truth.published_pairs)


@pytest.mark.parametrize(
    ("source", "pairs"),
    [
        ("published", "published_pairs"),
        ("github", "github_pairs"),
        ("linked", "linked_pairs"),
        ("title", "title_pairs"),
        ("mentions", "address_pairs"),
    ],
)
def test_each_link_source_finds_what_was_planted_for_it(
    corpus: Corpus, truth: DemoTruth, source: LinkSource, pairs: str
) -> None:
    links = find_links(corpus).of(source)
    tickets = corpus.tickets
    found = [
        (tickets[i].number, tickets[p].number) for i, p in zip(links.issues, links.prs, strict=True)
    ]
    assert found == list(getattr(truth, pairs))


@pytest.mark.parametrize("seed", range(5))
def test_every_seed_plants_what_it_says(seed: int) -> None:
    records = issues, prs = demo_records(seed=seed)
    truth = planted(seed=seed)
    assert len(truth.published_pairs) == 293
    assert published(records) == list(truth.published_pairs)
    titled = {
        (int(n), pr["number"]) for pr in prs for n in re.findall(r"(?i)fix\w* #(\d+)", pr["title"])
    }
    assert titled == set(truth.title_pairs)
    assert title_groups(issues) | title_groups(prs) == set(truth.title_groups)
    assert matching(prs, "title", "(?i)revert") == [revert for revert, _ in truth.reverts]


def test_the_link_sources_differ(truth: DemoTruth) -> None:
    sources = [truth.published_pairs, truth.github_pairs, truth.linked_pairs, truth.title_pairs]
    for source in sources:
        others = (set(other) for other in sources if other is not source)
        assert all(set(source) - other for other in others)


def test_prs_mostly_follow_their_issues(truth: DemoTruth) -> None:
    early = sum(pr < issue for issue, pr in truth.published_pairs)
    assert 0 < early < 15


def test_issues_have_several_prs_and_prs_several_issues(truth: DemoTruth) -> None:
    prs_of = Counter(issue for issue, _ in truth.published_pairs)
    issues_of = Counter(pr for _, pr in truth.published_pairs)
    assert set(truth.issues_of_several_prs) == {i for i, count in prs_of.items() if count > 1}
    assert set(truth.prs_of_several_issues) == {p for p, count in issues_of.items() if count > 1}
    assert max(prs_of.values()) == 3
    assert max(issues_of.values()) == 5
    assert truth.prs_of_several_issues[max(issues_of, key=lambda pr: issues_of[pr])]


def test_duplicates_are_found_with_their_evidence(
    issues: list[Record], corpus: Corpus, truth: DemoTruth
) -> None:
    said = set()
    for issue in issues:
        texts = [issue["body"] or "", *(comment["body"] for comment in issue["comments"])]
        for text in texts:
            said |= {(issue["number"], int(n)) for n in re.findall(r"Duplicate of #(\d+)", text)}
    assert said == {(d.issue, d.original) for d in truth.duplicates if d.evidence == "text"}
    tickets = corpus.tickets
    found = [
        (tickets[d.issue].number, tickets[d.original].number, d.evidence)
        for d in find_duplicates(corpus)
    ]
    assert found == list(truth.duplicates)
    assert {d.evidence for d in truth.duplicates} == {"text", "label", "state"}
    fixed = {issue for issue, _ in truth.published_pairs}
    assert all(d.original in fixed and d.original < d.issue for d in truth.duplicates)


def test_symptom_and_fix_share_few_words(records: Records, truth: DemoTruth) -> None:
    title = {record["number"]: record["title"].lower() for record in records[0] + records[1]}
    shared = 0
    for issue, pr in truth.published_pairs:
        said, done = (set(re.findall(r"[^\W\d_]{4,}", title[n])) for n in (issue, pr))
        shared += bool((said & done) - {"with", "when", "after", "from", "before"})
    assert shared < 0.15 * len(truth.published_pairs)


# Work that returns, bots and agents.


def test_reverts_name_what_they_revert(prs: list[Record], truth: DemoTruth) -> None:
    by_number = {pr["number"]: pr for pr in prs}
    found = []
    for pr in prs:
        target = re.match(r"Reverts demo/lattice#(\d+)", pr["body"] or "")
        if target:
            found.append((pr["number"], int(target[1])))
            assert pr["title"] == f'Revert "{by_number[int(target[1])]["title"]}"'
            assert by_number[int(target[1])]["mergedAt"] < pr["createdAt"]
    assert found == list(truth.reverts)
    assert matching(prs, "title", "(?i)revert") == [revert for revert, _ in truth.reverts]


def test_flaky_and_regression_stand_only_in_planted_titles(
    issues: list[Record], prs: list[Record], truth: DemoTruth
) -> None:
    assert sorted(matching(issues + prs, "title", "(?i)flaky")) == list(truth.flaky)
    assert matching(issues + prs, "title", "(?i)regression") == list(truth.regressions)


def test_titles_are_alike_only_in_planted_groups(
    issues: list[Record], prs: list[Record], truth: DemoTruth
) -> None:
    groups = title_groups(issues) | title_groups(prs)
    assert groups == set(truth.title_groups)
    assert title_groups(issues + prs) == groups
    filtered = {pr["number"] for pr in prs if pr["author"]["login"] in FILTERED}
    assert all(filtered.isdisjoint(group) or filtered.issuperset(group) for group in groups)
    assert max(map(len, groups)) > 32


def test_bot_prs_are_counted_by_account(prs: list[Record], truth: DemoTruth) -> None:
    for account, found in truth.bot_prs.items():
        assert [
            pr["number"] for pr in prs if pr["author"]["login"] in (account, f"app/{account}")
        ] == list(found)
    assert set(truth.bot_prs) == {"dependabot", "github-actions", "lattice-bot", "renovate"}


def test_deleted_accounts_come_as_apps_without_a_name(
    issues: list[Record], prs: list[Record], truth: DemoTruth
) -> None:
    ghosts = [r["number"] for r in issues + prs if r["author"] == {"is_bot": True, "login": "app/"}]
    assert sorted(ghosts) == list(truth.ghosts)
    assert ghosts


ACCOUNTS = {
    "claude": "app/claude",
    "copilot": "app/copilot-swe-agent",
    "cursor": "app/cursor",
    "devin": "app/devin-ai-integration",
    "jules": "app/google-labs-jules",
}
TEXTS = {
    "aider": r"noreply@aider\.chat",
    "claude": r"Generated with \[Claude Code\]|(?m:^Co-Authored-By: Claude .*<noreply@anthropic)",
    "codex": r"chatgpt\.com/codex/tasks/",
    "cursor": r"cursoragent@cursor\.com|CURSOR_SUMMARY",
    "devin": r"app\.devin\.ai/",
    "jules": r"created automatically by Jules for task",
}


def test_coding_agents_leave_the_planted_traces(prs: list[Record], truth: DemoTruth) -> None:
    accounts = {
        agent: tuple(pr["number"] for pr in prs if pr["author"]["login"] == login)
        for agent, login in ACCOUNTS.items()
    }
    texts = {agent: tuple(matching(prs, "body", pattern)) for agent, pattern in TEXTS.items()}
    assert accounts == truth.agent_accounts
    assert texts == truth.agent_texts


def test_false_friends_name_agents_and_carry_no_trace(prs: list[Record], truth: DemoTruth) -> None:
    by_number = {pr["number"]: pr for pr in prs}
    words = re.compile(r"(?i)claude|codex|cursor|devin")
    traced = {n for found in truth.agent_accounts.values() for n in found}
    traced |= {n for found in truth.agent_texts.values() for n in found}
    named = {
        pr["number"]
        for pr in prs
        if words.search(f"{pr['title']} {pr['body']} {pr['author']['login']}")
    }
    friends = {n for found in truth.false_friends.values() for n in found}
    assert set(truth.false_friends) == {"bump", "path", "person", "text cursor"}
    assert friends.isdisjoint(traced)
    assert friends == named - traced
    assert all(by_number[n]["author"]["login"] in FILTERED for n in truth.false_friends["bump"])


def test_coauthor_trailers_are_those_of_people_and_agents(
    prs: list[Record], truth: DemoTruth
) -> None:
    assert matching(prs, "body", r"(?im)^co-authored-by:") == list(truth.coauthored)


# The corpus.


def test_the_corpus_is_cut_as_a_real_one(corpus: Corpus) -> None:
    assert corpus.generated
    assert (corpus.cut.read_issues, corpus.cut.read_prs) == (460, 740)
    assert corpus.cut.dropped_authors == 110
    assert len(corpus) == 1090
    assert any("generated" in note for note in corpus.notes)
    assert any("fastrecall eval" in note for note in corpus.notes)


def test_window_options_reach_the_demo() -> None:
    assert load_corpus("demo", window_prs=100).cut.kept_prs == 100
    assert load_corpus("demo", author_filter=None).cut.dropped_authors == 0
    assert load_corpus("demo").fingerprint == demo_corpus().fingerprint


def test_too_small_a_demo_is_refused() -> None:
    with pytest.raises(InputError, match="at least 120"):
        demo_records(nodes=119)


# Other sizes.


@pytest.mark.parametrize("nodes", [120, 121, 500, 1199, 3000])
def test_every_size_has_its_share_of_pairs(nodes: int) -> None:
    records = demo_records(nodes=nodes)
    assert len(records[0]) + len(records[1]) == nodes
    pairs = published(records)
    assert pairs == list(planted(nodes=nodes).published_pairs)
    assert len(pairs) == nodes * 293 // 1200


def test_large_corpora_stay_varied_and_exact(large: Records) -> None:
    issues, prs = large
    truth = planted(nodes=20_000)
    assert len(issues) + len(prs) == 20_000
    assert published(large) == list(truth.published_pairs)
    assert len(truth.published_pairs) == 4883
    assert title_groups(issues) | title_groups(prs) == set(truth.title_groups)
    titles = {record["title"] for record in issues + prs}
    assert len(titles) > 0.9 * 20_000


def test_large_corpora_have_distinct_texts_and_fit_the_window() -> None:
    corpus = demo_corpus(nodes=20_000)
    assert corpus.cut.beyond_issues == corpus.cut.beyond_prs == 0
    texts = [text.partition(": ")[2] for text in node_texts(corpus)]
    assert len(set(texts)) > 0.95 * len(texts)


def test_making_20000_nodes_takes_about_a_second_of_one_core() -> None:
    before = time.process_time()
    demo_records(nodes=20_000)
    assert time.process_time() - before < 2.5  # 0.5 s where this was written; CI is slower
