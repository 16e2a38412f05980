"""Every arm under every protocol, place by place, against the slow reading of the definition."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.oracles.evaluation import World
from tests.study.conftest import WORDS

from fastrecall.corpus import load_corpus, make_corpus
from fastrecall.embedding import embed
from fastrecall.search import tokens
from fastrecall.study.evaluation import Evaluation, evaluate_in_full
from fastrecall.types import Corpus, Ticket

PROTOCOLS = ("published", "leave-one-out", "duplicates", "past-only", "shuffled")


def some_corpus(seed: int, size: int = 130) -> Corpus:
    """Issues and PRs in any order of time, some at the same second; a third of the issues repeat
    another one, which may be younger or repeat them, too."""
    rng = np.random.default_rng(seed)
    numbers = 1 + rng.permutation(size)
    issues, tickets = numbers[: size // 2], []
    for place, number in enumerate(numbers.tolist()):
        kind = "issue" if place < size // 2 else "pr"
        body = " ".join(rng.choice(WORDS, rng.integers(0, 12)))
        if kind == "issue" and rng.random() < 0.35:
            body += f"\nDuplicate of #{rng.choice(issues)}"
        if kind == "pr" and rng.random() < 0.6:
            body += "".join(f"\nFixes #{n}" for n in rng.choice(issues, rng.integers(1, 4)))
        time = 1_600_000_000 + 60 * int(rng.integers(0, size // 2))
        title = " ".join(rng.choice(WORDS, 3))
        tickets.append(Ticket("", kind, number, title, body, time))  # type: ignore[arg-type]
    return make_corpus(tickets, name="some")


def agree(evaluation: Evaluation, world: World, model: str) -> None:
    """Rankings place by place, ranks, hits and means of both."""
    budget = world.budget
    for protocol, asked in evaluation.asked.items():
        record = evaluation.record["protocols"][protocol]
        pairs = world.pairs(protocol)
        ours = [(pair.issue_node, pair.pr_node) for pair in asked.pairs]
        assert sorted(ours) == pairs
        links = list(zip(asked.links.issues.tolist(), asked.links.prs.tolist(), strict=True))
        assert protocol == "shuffled" or links == world.links
        nodes = asked.nodes.tolist()
        questions = [world.question(protocol, node) for node in nodes]
        vectors = embed(questions, model=model, cache=False, kind="query")
        returned = {
            node: world.ask(protocol, node, vector, links=links)
            for node, vector in zip(nodes, vectors, strict=True)
        }
        for arm, answers in evaluation.found[protocol].items():
            if arm == "best":  # tests/search/test_best.py has its definition
                continue
            ranks = []
            for row, node in enumerate(nodes):
                expected = returned[node][arm]
                width = min(len(expected), answers.ids.shape[1])
                assert answers.ids[row, :width].tolist() == expected[:width], (protocol, arm, node)
                if arm.endswith("uncut"):
                    assert answers.sizes[row] == len(expected)
            for (node, fix), rank in zip(ours, answers.ranks.tolist(), strict=True):
                expected = returned[node][arm]
                ranks.append(expected.index(fix) + 1 if fix in expected else None)
                if ranks[-1] is not None:
                    assert rank == ranks[-1]
                elif not arm.endswith("uncut"):
                    assert rank == 0 or rank > budget
            block = record["arms"][arm]
            assert block["hits"] == sum(rank is not None for rank in ranks)
            sizes = [len(found[arm]) for found in returned.values()]
            assert block["mean_output"] == pytest.approx(np.mean(sizes))
        first = sum(found["semantic"][:1] == [node] for node, found in returned.items())
        stored = protocol in ("published", "shuffled")
        assert record["own_issue_first"] == (first if stored else None)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("options", [{}, {"budget": 5, "depth": 1}, {"undirected": True}])
def test_every_place_of_every_arm(seed: int, options: dict[str, Any]) -> None:
    corpus = some_corpus(seed)
    evaluation = evaluate_in_full(corpus, model="fake", cache=False, seed=seed, **options)
    assert tuple(evaluation.asked) == PROTOCOLS
    world = World(
        corpus.tickets,
        embed_texts(corpus),
        lambda text: re.findall(r"\w+", text.lower()),
        **options,
    )
    agree(evaluation, world, "fake")


@pytest.mark.slow
def test_every_place_on_real_issues(corpora: Path) -> None:
    """No issue of the corpora names the one it repeats, so some are made to."""
    known = load_corpus(corpora / "tls13-spec")
    closed = {int(n) for t in known.tickets for n in re.findall(r"(?i)fixes #(\d+)", t.body)}
    rng = np.random.default_rng(0)
    tickets = [
        replace(ticket, body=f"{ticket.body}\n\nDuplicate of #{rng.choice(sorted(closed))}")
        if ticket.kind == "issue" and rng.random() < 0.1
        else ticket
        for ticket in known.tickets
    ]
    corpus = make_corpus(tickets, name="tls13-spec")
    evaluation = evaluate_in_full(corpus)
    world = World(
        corpus.tickets,
        embed_texts(corpus, "minilm"),
        lambda text: [term for word in tokens.words(text) for term in tokens.terms(word)],
    )
    assert min(map(len, (world.links, world.repeats))) > 30
    agree(evaluation, world, "minilm")


def embed_texts(corpus: Corpus, model: str = "fake") -> np.ndarray:
    names = {"issue": "issue", "pr": "PR"}
    texts = [
        f"{names[t.kind]} #{t.number}: {t.title[:120]}\n{t.body[:300]}" for t in corpus.tickets
    ]
    return embed(texts, model=model, cache=model != "fake")


@pytest.mark.parametrize("seed", range(3))
def test_answers_that_do_not_exist_yet_are_told_apart(seed: int) -> None:
    corpus = some_corpus(seed)
    record = evaluate_in_full(corpus, model="fake", cache=False).record
    created = {(t.kind, t.number): t.created_at for t in corpus.tickets}
    later = {
        (row["issue"], row["pr"])
        for row in record["queries"]
        if created["pr", row["pr"]] >= created["issue", row["issue"]]
    }
    block = record["protocols"]["past-only"]
    asked = [row for row in record["queries"] if "past-only" in row["ranks"]]
    limited = [row for row in asked if (row["issue"], row["pr"]) in later]
    assert block["not_yet"] == len(limited) > 0
    for row in limited:
        reasons = {miss["reason"] for miss in row["misses"]["past-only"].values()}
        assert reasons == {"not_yet"}
        assert set(row["ranks"]["past-only"].values()) == {None}
    for protocol, rest in record["protocols"].items():
        assert ("not_yet" in rest) == (protocol == "past-only")
    assert f"for {block['not_yet']} of {block['pairs']} pairs the PR was created" in record.table()
