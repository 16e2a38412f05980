"""The evaluation against a slow reading of its definition, and what its record promises."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from tests.oracles import arms as oracle

from fastrecall.corpus import find_links, gold_from_links, make_corpus, node_texts
from fastrecall.embedding import embed
from fastrecall.errors import CorpusError, InputError
from fastrecall.search import arms as arms_module
from fastrecall.search.arms import ARMS
from fastrecall.search.best import Best
from fastrecall.study import Record, evaluate
from fastrecall.study.evaluation import evaluate_in_full
from fastrecall.types import Corpus, Gold, Ticket

Maker = Callable[[int, int], Corpus]
FAKE = {"model": "fake", "cache": False}
PROTOCOLS = ("published", "leave-one-out")


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("budget", [1, 8, 32])
def test_hits_equal_those_of_the_definition(random_corpus: Maker, seed: int, budget: int) -> None:
    corpus = random_corpus(120, seed)
    pairs = sorted(
        (pair.issue_node, pair.pr_node)
        for pair in gold_from_links(corpus, find_links(corpus), ("published",)).pairs
    )
    record = evaluate(corpus, budget=budget, depth=3, protocols=PROTOCOLS, **FAKE)
    vectors = embed(node_texts(corpus), **FAKE)
    issues = sorted({issue for issue, _ in pairs})
    asked = [corpus.tickets[issue].title for issue in issues]
    queries = dict(zip(issues, embed(asked, **FAKE, kind="query"), strict=True))
    links = oracle.closing(pairs)
    everything = range(len(corpus))
    prs = [node for node in everything if corpus.is_pr[node]]
    for protocol in PROTOCOLS:
        semantic, only_prs, causal, uncut = {}, {}, {}, {}
        for issue in issues:
            missing = issue if protocol == "leave-one-out" else None
            there = [node for node in everything if node != missing]
            seeds = oracle.nearest(vectors, queries[issue], there, budget)
            semantic[issue] = seeds
            only_prs[issue] = oracle.nearest(vectors, queries[issue], prs, budget)
            uncut[issue] = oracle.causal(seeds, links, depth=3, missing=missing)
            causal[issue] = uncut[issue][:budget]
        arms = record["protocols"][protocol]["arms"]
        assert arms["semantic"]["hits"] == oracle.hits(semantic, pairs, budget)
        assert arms["semantic_prs"]["hits"] == oracle.hits(only_prs, pairs, budget)
        assert arms["causal"]["hits"] == oracle.hits(causal, pairs, budget)
        assert arms["causal_uncut"]["hits"] == oracle.hits(uncut, pairs, len(corpus))
        size = np.mean([len(found) for found in uncut.values()])
        assert arms["causal_uncut"]["mean_output"] == pytest.approx(size)


def test_the_rows_tell_the_same_as_the_summary(random_corpus: Maker) -> None:
    record = evaluate(random_corpus(150, 5), **FAKE)
    for protocol, block in record["protocols"].items():
        asked = [row for row in record["queries"] if protocol in row["ranks"]]
        for arm, summary in block["arms"].items():
            ranks = [row["ranks"][protocol][arm] for row in asked]
            found = [rank for rank in ranks if rank is not None]
            assert len(ranks) == summary["pairs"]
            assert len(found) == summary["hits"]
            best = {row["issue"]: 0.0 for row in asked}
            for row, rank in zip(asked, ranks, strict=True):
                best[row["issue"]] = max(best[row["issue"]], 1 / rank if rank else 0.0)
            assert sum(best.values()) / block["queries"] == pytest.approx(summary["mrr"])
            if ARMS[arm].cut:
                assert max(found, default=0) <= record["settings"]["budget"]
                assert summary["hits_at"][31] == summary["hits"]
            for row in asked:
                missed = row["ranks"][protocol][arm] is None
                assert missed == (arm in row["misses"].get(protocol, {}))


def test_threads_change_nothing_but_timings(random_corpus: Maker) -> None:
    corpus = random_corpus(300, 6)
    one, two, seven = (
        evaluate(corpus, threads=threads, **FAKE).to_json(timings=False) for threads in (1, 2, 7)
    )
    assert one == two == seven


def test_how_many_queries_are_asked_at_once_changes_nothing(
    random_corpus: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = random_corpus(200, 11)
    whole = evaluate(corpus, **FAKE).to_json(timings=False)
    for size in (1, 7):
        monkeypatch.setattr(arms_module, "_QUERIES_AT_ONCE", size)
        assert evaluate(corpus, **FAKE).to_json(timings=False) == whole


def test_protocols_do_not_depend_on_what_else_is_asked(random_corpus: Maker) -> None:
    corpus = random_corpus(200, 12)
    together = evaluate(corpus, protocols=[*PROTOCOLS, "shuffled"], **FAKE)
    for protocol in (*PROTOCOLS, "shuffled"):
        alone = evaluate(corpus, protocols=[protocol], **FAKE)
        assert alone["protocols"][protocol] == together["protocols"][protocol]
        assert alone["breakdowns"][protocol] == together["breakdowns"][protocol]


def test_answers_keep_what_an_uncut_walk_returned_in_ranks_and_sizes(random_corpus: Maker) -> None:
    evaluation = evaluate_in_full(random_corpus(400, 13), protocols=["published"], **FAKE)
    asked = evaluation.asked["published"]
    answers = evaluation.found["published"]["semantic_similar_uncut"]
    width = answers.ids.shape[1]
    assert answers.sizes.max() > width >= answers.ranks[answers.ranks > 0].min()
    for pair, rank in enumerate(answers.ranks.tolist()):
        head = answers.ids[asked.rows[pair]].tolist()
        target = int(asked.targets[pair])
        assert (head[rank - 1] == target) if 0 < rank <= width else (target not in head)


def test_excluded_issue_leaves_no_trace(random_corpus: Maker) -> None:
    evaluation = evaluate_in_full(random_corpus(120, 7), protocols=["leave-one-out"], **FAKE)
    asked = evaluation.asked["leave-one-out"]
    for arm, answers in evaluation.found["leave-one-out"].items():
        assert not (answers.ids == asked.nodes[:, None]).any(), arm


def test_best_answers_where_the_symptom_is_new(random_corpus: Maker) -> None:
    corpus = random_corpus(120, 14)
    record = evaluate(corpus, **FAKE)
    for protocol, block in record["protocols"].items():
        assert ("best" in block["arms"]) == (protocol == "leave-one-out")
    evaluation = evaluate_in_full(corpus, arms=["best"], **FAKE)
    assert list(evaluation.record["protocols"]) == ["leave-one-out"]
    ids = evaluation.found["leave-one-out"]["best"].ids
    assert corpus.is_pr[ids].all()
    with pytest.raises(InputError, match=r"'published' stores .* best answers new symptoms only"):
        evaluate(corpus, arms=["best"], protocols=["published"], **FAKE)


@pytest.mark.parametrize("query", ["title", "body", "title+body"])
def test_best_sees_nothing_of_the_issue_that_asks(random_corpus: Maker, query: str) -> None:
    corpus = random_corpus(60, 15)
    options = {"arms": ["best"], "protocols": ["leave-one-out"], "query": query, **FAKE}
    evaluation = evaluate_in_full(corpus, **options)
    asked, answers = evaluation.asked["leave-one-out"], evaluation.found["leave-one-out"]["best"]
    links = find_links(corpus).of("published")
    for row, issue in enumerate(asked.nodes.tolist()):
        tickets = list(corpus.tickets)
        tickets[issue] = replace(tickets[issue], title="", body="")
        keep = links.issues != issue
        rest = replace(links, **{n: getattr(links, n)[keep] for n in ("issues", "prs", "sources")})
        index = Best.of_corpus(
            replace(corpus, tickets=tuple(tickets)),
            rest,
            embed=lambda texts, kind: embed(texts, kind=kind, **FAKE),
        )
        text = asked.texts[row] if query != "body" else f"\n{asked.texts[row]}"
        alone, _ = index.search([text], answers.ids.shape[1], exclude=[issue])
        np.testing.assert_array_equal(answers.ids[row], alone[0])


def test_a_body_does_not_find_its_issue_by_the_title(random_corpus: Maker) -> None:
    corpus = random_corpus(80, 11)
    tickets = tuple(replace(t, body="" if t.kind == "issue" else t.body) for t in corpus.tickets)
    empty = replace(corpus, tickets=tickets)
    by_body = evaluate(empty, query="body", arms=["bm25"], protocols=["published"], **FAKE)
    assert by_body["protocols"]["published"]["arms"]["bm25"]["hits"] == 0
    record = evaluate(corpus, query="title+body", protocols=["published"], **FAKE)
    first = record["protocols"]["published"]["own_issue_first"]
    assert first == record["protocols"]["published"]["queries"]


def test_pairs_whose_pr_is_not_there_are_counted_apart(random_corpus: Maker) -> None:
    corpus = random_corpus(60, 8)
    gold = gold_from_links(corpus, find_links(corpus), ("published",))
    lost = replace(gold.pairs[0], pr=9999, pr_node=-1)
    record = evaluate(corpus, gold=Gold((*gold.pairs, lost), "given", "x"), **FAKE)
    block = record["protocols"]["published"]
    assert (block["pairs"], block["unreachable"]) == (len(gold), 1)
    assert [row["pr"] for row in record["queries"] if row.get("unreachable")] == [9999]
    assert "1 pair not asked" in record.table()


def test_a_corpus_without_links_says_what_to_do(random_corpus: Maker) -> None:
    corpus = random_corpus(40, 9)
    bare = replace(corpus, tickets=tuple(replace(t, body="") for t in corpus.tickets))
    with pytest.raises(CorpusError, match=r"random: nothing to ask.*--links github\+title"):
        evaluate(bare, **FAKE)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"budget": 0}, "budget is 0; expected 1 to 100,000"),
        ({"protocols": ["publised"]}, "did you mean 'published'"),
        ({"arms": ["casual"]}, "did you mean 'causal'"),
        ({"links": ["gitlab"]}, "link source 'gitlab' is unknown"),
        ({"query": "titel"}, "did you mean 'title'"),
    ],
)
def test_bad_options_are_named(
    random_corpus: Maker, options: dict[str, object], sentence: str
) -> None:
    with pytest.raises(InputError) as caught:
        evaluate(random_corpus(20, 1), **FAKE, **options)
    assert sentence in str(caught.value)


def test_a_record_survives_its_file(random_corpus: Maker, tmp_path_factory: object) -> None:
    record = evaluate(random_corpus(60, 10), **FAKE)
    written = json.loads(record.to_json())
    assert len(written.pop("digest")) == 64
    assert written == json.loads(json.dumps(dict(record)))
    assert Record(json.loads(record.to_json())).to_json() == record.to_json()


@pytest.mark.parametrize("query", ["title", "body", "title+body"])
def test_a_duplicate_asks_without_the_number_of_its_original(query: str) -> None:
    """Or the number, which stands in the text of every node, would answer by itself."""
    tickets = [
        Ticket("", "issue", 400 + n, f"symptom {n}", f"it happens {n}", 2 * n) for n in range(9)
    ]
    prs = [Ticket("", "pr", 500 + n, "change", f"Fixes #{400 + n}", 99) for n in range(9)]
    again = Ticket("", "issue", 450, "no word in common", "Duplicate of #403\nit breaks", 199)
    corpus = make_corpus([*tickets, *prs, again], name="repeated")
    evaluation = evaluate_in_full(
        corpus, query=query, protocols=["duplicates", "past-only"], **FAKE
    )
    node = corpus.node("", "issue", 403)
    for protocol, asked in evaluation.asked.items():
        assert asked.pairs[0].pr == 503
        assert "403" not in asked.texts[0]
        if query == "title":
            assert asked.texts == ("no word in common",)
        words = evaluation.found[protocol]["bm25"].ids[0]
        assert words[0] != node
