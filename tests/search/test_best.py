"""The arm `best` against its description, rebuilt indexes, and the real corpora."""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from tests.oracles import best as oracle

from fastrecall.corpus import find_links, gold_from_links, load_corpus, make_corpus, query_text
from fastrecall.embedding import embed
from fastrecall.errors import InputError
from fastrecall.search import best as arm
from fastrecall.search import evidence, lending, tokens
from fastrecall.search.best import Best
from fastrecall.search.best_parts import FIELD_WEIGHTS, best_parts
from fastrecall.search.bm25 import BM25
from fastrecall.search.mentions import find_mentions
from fastrecall.types import Ticket

SUBJECTS = ["parser", "socket", "cache", "key", "ticket", "index", "walk", "panel"]
FAULTS = ["crashes", "leaks", "hangs", "is slow", "loses rows", "prints twice"]


def hashed(texts, kind="passage"):
    """A vector for each text from its words alone, with something all texts share."""
    out = np.full((len(texts), 24), 0.3, dtype=np.float32)
    for row, text in zip(out, texts, strict=True):
        for word in text.lower().split():
            row[zlib.crc32(word.encode()) % 24] += 1
    return out / np.linalg.norm(out, axis=1, keepdims=True)


class Case:
    def __init__(self, size, seed):
        rng = np.random.default_rng(seed)
        self.titles = [f"{rng.choice(SUBJECTS)} {rng.choice(FAULTS)}" for _ in range(size)]
        self.bodies = [
            " ".join(rng.choice(SUBJECTS + FAULTS, size=rng.integers(0, 9))) for _ in range(size)
        ]
        self.is_pr = rng.random(size) < 0.6
        self.links = rng.integers(0, size, size=(size // 2, 2))

    def words(self):
        return BM25(
            {"title": self.titles, "body": self.bodies},
            weights=FIELD_WEIGHTS,
            terms=tokens.stems,
        )

    def index(self, keep=None):
        keep = np.arange(len(self.titles)) if keep is None else keep
        place = {node: i for i, node in enumerate(keep)}
        links = [(place[a], place[b]) for a, b in self.links if a in place and b in place]
        return Best(
            [self.titles[i] for i in keep],
            [self.bodies[i] for i in keep],
            is_pr=self.is_pr[keep],
            links=np.array(links, dtype=np.int64).reshape(-1, 2),
            embed=hashed,
        )


@pytest.fixture(scope="module")
def case():
    return Case(90, seed=1)


QUERIES = ["parser leaks", "the index is slow", "walk hangs\nsocket and cache\nlose rows", ""]


def assert_follows_the_description(case, exclude, visible=None):
    size = len(case.titles)
    ids, scores = case.index().search(QUERIES, size, exclude=exclude, visible=visible)
    for row, query in enumerate(QUERIES):
        exists = np.ones(size, dtype=bool) if visible is None else visible[row].copy()
        if exclude[row] >= 0:
            exists[exclude[row]] = False
        title, _, body = query.partition("\n")
        expected = oracle.scores(
            hashed([f"{t}\n{b}" for t, b in zip(case.titles, case.bodies, strict=True)]),
            case.words().scores(query, visible=exists),
            hashed([title, query] if body else [title]),
            is_pr=case.is_pr,
            exists=exists,
            links=case.links,
            title_weight=evidence.TITLE_WEIGHT,
            words_weight=evidence.WORDS_WEIGHT,
            discount=lending.LINK_DISCOUNT,
        )
        found = {int(i): s for i, s in zip(ids[row], scores[row], strict=True) if i >= 0}
        assert found.keys() == expected.keys()
        for node, score in expected.items():
            assert found[node] == pytest.approx(score, abs=1e-4)
        assert (np.diff(scores[row, : len(found)]) <= 0).all()


def test_scores_follow_the_description(case):
    visible = np.random.default_rng(2).random((len(QUERIES), 90)) < 0.7
    exclude = np.array([3, -1, 11, 40])
    assert_follows_the_description(case, exclude)
    assert_follows_the_description(case, exclude, visible)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("prs", ["none", "all", "one", "all but one", "twins"])
def test_scores_follow_the_description_of_awkward_corpora(prs, seed):
    odd = Case(31, seed=10 + seed)
    rng = np.random.default_rng(seed)
    some = int(rng.integers(31))
    if prs == "twins":
        odd.titles[20:] = odd.titles[:11]
        odd.bodies[20:] = odd.bodies[:11]
    else:
        odd.is_pr[:] = prs in ("all", "all but one")
        odd.is_pr[some] = prs in ("all", "one")
    assert_follows_the_description(odd, np.array([some, -1, *rng.integers(31, size=2)]))


def test_how_many_questions_are_worked_on_at_once_changes_no_ranking(case, monkeypatch):
    index = case.index()
    queries = [f"{title}\n{body}" for title, body in zip(case.titles, case.bodies, strict=True)]
    exclude = np.arange(90)
    ids, scores = index.search(queries, 32, exclude=exclude)
    monkeypatch.setattr(arm, "_PRODUCTS_AT_ONCE", 90 * 25)
    monkeypatch.setattr(arm, "_SCORES_AT_ONCE", 90 * 3)
    fewer, their_scores = index.search(queries, 32, exclude=exclude)
    np.testing.assert_array_equal(ids, fewer)
    np.testing.assert_allclose(scores, their_scores, atol=2e-6)


@pytest.mark.parametrize("size", [1, 2, 40, 200])
def test_where_all_texts_are_the_same_nothing_but_the_order_counts(size):
    index = Best(
        ["same words"] * size,
        ["and a body"] * size,
        is_pr=np.arange(size) % 3 == 0,
        links=np.array([[0, size - 1]]),
        embed=hashed,
    )
    ids, scores = index.search(["same words", "other\nwords"] * 2, size, exclude=[-1, -1, 0, 0])
    prs = np.arange(0, size, 3).tolist()
    for row, expected in enumerate([prs, prs, prs[1:], prs[1:]]):
        assert ids[row].tolist() == expected + [-1] * (size - len(expected))
        assert (scores[row, : len(expected)] == 0).all()


def test_excluding_a_node_equals_an_index_built_without_it(case):
    index = case.index()
    for gone in (0, 17, 89):
        keep = np.delete(np.arange(90), gone)
        ids, scores = index.search(QUERIES, 60, exclude=[gone] * len(QUERIES))
        fewer, their_scores = case.index(keep).search(QUERIES, 60)
        np.testing.assert_allclose(scores, their_scores, atol=2e-5)
        for row in range(len(QUERIES)):
            mine = dict(zip(ids[row].tolist(), scores[row], strict=True))
            for place, score in zip(fewer[row], their_scores[row], strict=True):
                if place >= 0:
                    assert mine[int(keep[place])] == pytest.approx(score, abs=2e-5)


def test_what_a_query_excludes_cannot_matter(case):
    other = Case(90, seed=1)
    other.titles[17], other.bodies[17] = "socket leaks socket leaks", "parser " * 30
    other.links = np.array([pair for pair in other.links if 17 not in pair] + [[17, 4], [5, 17]])
    mine = case.index().search(QUERIES, 32, exclude=[17] * len(QUERIES))
    theirs = other.index().search(QUERIES, 32, exclude=[17] * len(QUERIES))
    np.testing.assert_array_equal(mine[0], theirs[0])
    np.testing.assert_allclose(mine[1], theirs[1], atol=2e-5)


def test_only_prs_that_exist_are_returned(case):
    visible = np.arange(90) % 2 == 0
    ids, scores = case.index().search(QUERIES, 80, visible=visible)
    found = ids[ids >= 0]
    assert (case.is_pr & visible)[found].all()
    assert (np.isnan(scores) == (ids < 0)).all()


def test_a_query_is_answered_alike_alone_and_in_a_batch(case):
    index = case.index()
    ids, scores = index.search(QUERIES, 20)
    for row, query in enumerate(QUERIES):
        one, one_scores = index.search([query], 20)
        np.testing.assert_array_equal(ids[row], one[0])
        np.testing.assert_array_equal(scores[row], one_scores[0])


def test_what_was_prepared_is_not_embedded_again(case):
    index, asked = case.index(), []
    index._embed = lambda texts, kind: asked.append(list(texts)) or hashed(texts)
    index.prepare(QUERIES[:3])
    prepared, _ = index.search(QUERIES, 20)
    assert len(asked) == 2
    assert asked[1] == [""]
    np.testing.assert_array_equal(prepared, case.index().search(QUERIES, 20)[0])


def test_equal_prs_come_in_node_order():
    index = Best(
        ["same words"] * 6,
        [""] * 6,
        is_pr=np.array([False, True, True, False, True, True]),
        links=np.empty((0, 2), dtype=np.int64),
        embed=hashed,
    )
    assert index.search(["same words"], 4)[0].tolist() == [[1, 2, 4, 5]]


def test_a_similar_issue_lends_its_evidence_to_the_pr_that_closed_it():
    issues = ["socket leaks after timeout", *(f"panel {color}" for color in "abcdefgh")]
    prs = ["Rework it", "Tidy", "Bump", "Polish"]
    titles, closer = issues + prs, len(issues) + 2
    options = {"is_pr": np.arange(len(titles)) >= len(issues), "embed": hashed}
    bodies = [""] * len(titles)
    linked = Best(titles, bodies, links=np.array([[0, closer]]), **options)
    alone = Best(titles, bodies, links=np.empty((0, 2), dtype=np.int64), **options)
    query = ["the socket leaks"]
    assert linked.search(query, 1)[0].tolist() == [[closer]]
    assert alone.search(query, 1)[0].tolist() != [[closer]]
    without_issue = linked.search(query, 4, exclude=[0])[0].tolist()
    assert without_issue == alone.search(query, 4, exclude=[0])[0].tolist()


def test_references_and_closing_words_are_hidden_from_the_embedder():
    seen = []

    def listening(texts, kind):
        seen.extend(texts)
        return hashed(texts)

    index = Best(
        ["Crash #12", "Fix crash"],
        ["see https://github.com/o/r/issues/77", "Fixes #12\nand o/r#13, RFC 8446"],
        is_pr=np.array([False, True]),
        links=np.array([[0, 1]]),
        embed=listening,
    )
    index.search(["Crash as in #99\nlike GH-98"], 1)
    assert not any(number in text for number in ("12", "13", "77", "98", "99") for text in seen)
    assert not any("Fixes" in text for text in seen)
    assert any("8446" in text for text in seen)


@pytest.mark.parametrize("gone", [-1, 3, 40])
@pytest.mark.parametrize("query", QUERIES)
def test_what_a_question_weighs_is_what_search_ranks_by(case, query, gone):
    index, size = case.index(), len(case.titles)
    weighed = index.weigh(query, exclude=gone)
    ids, scores = index.search([query], size, exclude=[gone])
    prs = np.flatnonzero(case.is_pr & np.isfinite(weighed.scores))
    by_score = prs[np.argsort(-weighed.scores[prs], kind="stable")]
    assert by_score.tolist() == ids[0][ids[0] >= 0].tolist()
    np.testing.assert_array_equal(
        weighed.scores[by_score].astype(np.float32), scores[0][: len(by_score)]
    )
    assert np.isneginf(weighed.scores).nonzero()[0].tolist() == [gone] * (gone >= 0)
    linked = {pair for a, b in case.links.tolist() for pair in ((a, b), (b, a))}
    for node in range(size):
        lender = weighed.lenders[node]
        neighbours = [other for one, other in linked if one == node != other]
        lent = max(weighed.evidence[neighbours], default=-np.inf) - lending.LINK_DISCOUNT
        if not case.is_pr[node]:
            assert lender == -1
            assert weighed.scores[node] == weighed.evidence[node] - lending.LINK_DISCOUNT
        elif lent > weighed.evidence[node] > -np.inf:
            assert lender in neighbours
            assert weighed.scores[node] == weighed.evidence[lender] - lending.LINK_DISCOUNT
        else:
            assert lender == -1
            assert weighed.scores[node] == weighed.evidence[node]


def test_stored_parts_answer_as_the_texts_do(case, tmp_path):
    parts, vocabulary = best_parts(case.titles, case.bodies, is_pr=case.is_pr, embed=hashed)
    np.save(tmp_path / "vectors.npy", parts.vectors)
    mapped = parts._replace(vectors=np.load(tmp_path / "vectors.npy", mmap_mode="r"))
    stored = Best.from_parts(mapped, vocabulary, is_pr=case.is_pr, links=case.links, embed=hashed)
    for options in ({}, {"exclude": [3, -1, 11, 40]}, {"visible": np.arange(90) % 3 > 0}):
        for of_texts, of_parts in zip(
            case.index().search(QUERIES, 50, **options),
            stored.search(QUERIES, 50, **options),
            strict=True,
        ):
            np.testing.assert_array_equal(of_texts, of_parts)


@pytest.mark.parametrize("kinds", [[True, True], [False, False], []])
def test_one_kind_alone_or_no_nodes_at_all(kinds):
    index = Best(
        ["a b", "b c"][: len(kinds)],
        ["", ""][: len(kinds)],
        is_pr=np.array(kinds, dtype=bool),
        links=np.empty((0, 2), dtype=np.int64),
        embed=lambda texts, kind: hashed(texts),
    )
    ids, scores = index.search(["b c"], 2)
    assert ids.tolist() == ([[1, 0]] if kinds and kinds[0] else [[-1, -1]])
    assert (np.isnan(scores) == (ids < 0)).all()


def test_no_queries_give_no_rankings(case):
    ids, scores = case.index().search([], 5)
    assert ids.shape == scores.shape == (0, 5)


def test_mentions_are_found_in_titles_and_bodies_of_all_tickets():
    def ticket(kind, number, title="", body=""):
        return Ticket("o/r", kind, number, title, body, number)

    corpus = make_corpus(
        [
            ticket("issue", 1, "as #3", "and #1, o/x#2, &#3;, https://github.com/o/x/issues/2"),
            ticket("issue", 2, "", "GH-4 https://github.com/O/R/pull/3#note"),
            ticket("pr", 3, "", "Closes #2, o/r#1, #99"),
            ticket("pr", 4, "follows #3"),
        ],
        name="o/r",
    )
    assert find_mentions(corpus).tolist() == [[0, 2], [1, 2], [1, 3], [2, 0], [2, 1], [3, 2]]


def test_the_answer_does_not_depend_on_the_number_of_threads():
    program = (
        "import numpy as np, zlib\n"
        "from fastrecall.search.best import Best\n"
        "rng = np.random.default_rng(0)\n"
        "n = 3000\n"
        "titles = [f't{i % 97} w{i % 31}' for i in range(n)]\n"
        "def embed(texts, kind):\n"
        "    v = np.random.default_rng(len(texts)).normal(size=(len(texts), 384))\n"
        "    return (v / np.linalg.norm(v, axis=1)[:, None]).astype(np.float32)\n"
        "best = Best(titles, [''] * n, is_pr=np.arange(n) % 2 == 0,\n"
        "            links=rng.integers(0, n, (2000, 2)), embed=embed)\n"
        "ids, scores = best.search(['t5 w7', 't8'], 200, exclude=[1, 4])\n"
        "print(zlib.crc32(ids.tobytes()), zlib.crc32(scores.tobytes()))\n"
    )
    answers = set()
    for threads in ("1", "2", "4"):
        names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
        answers.add(
            subprocess.run(
                [sys.executable, "-c", program],
                env={**os.environ, **dict.fromkeys(names, threads)},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        )
    assert len(answers) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bodies": [""]}, "2 titles, 1 bodies, 2 kinds"),
        ({"links": np.array([[0, 2]])}, r"outside 0 … 1"),
        ({"embed": lambda texts, kind: np.zeros((1, 3))}, r"gave \(1, 3\) for 2 texts"),
    ],
)
def test_bad_material_is_named(change, message):
    material = {
        "titles": ["a", "b"],
        "bodies": ["", ""],
        "is_pr": np.array([True, False]),
        "links": np.array([[0, 1]]),
        "embed": hashed,
    } | change
    with pytest.raises(InputError, match=message):
        Best(material.pop("titles"), material.pop("bodies"), **material)


@pytest.mark.parametrize(
    ("k", "options", "message"),
    [
        (0, {}, "k is 0"),
        (1, {"exclude": [0, 0]}, r"exclude is int64 \(2,\)"),
        (1, {"exclude": [90]}, "ids outside"),
        (1, {"visible": np.ones(3, dtype=bool)}, r"visible is bool \(3,\)"),
        (1, {"visible": np.ones(90)}, "visible is float64"),
    ],
)
def test_bad_questions_are_named(case, k, options, message):
    with pytest.raises(InputError, match=message):
        case.index().search(["a"], k, **options)


@pytest.mark.slow
@pytest.mark.parametrize(("query", "least"), [("title", 0.82), ("title+body", 0.86)])
def test_real_symptoms_find_their_fix(corpora: Path, query, least):
    hits = pairs_asked = 0
    for folder in sorted(corpora.iterdir()):
        if folder.name == "merged":
            continue
        corpus = load_corpus(folder)
        links = find_links(corpus).of("published")
        pairs = gold_from_links(corpus, links).pairs
        index = Best.of_corpus(corpus, links, embed=lambda texts, kind: embed(texts, kind=kind))
        issues = sorted({pair.issue_node for pair in pairs})
        asked = [query_text(corpus.tickets[node], query) for node in issues]
        ids, _ = index.search(asked, 32, exclude=issues)
        found = dict(zip(issues, ids.tolist(), strict=True))
        hits += sum(pair.pr_node in found[pair.issue_node] for pair in pairs)
        pairs_asked += len(pairs)
    assert pairs_asked == 316
    assert hits / pairs_asked >= least
