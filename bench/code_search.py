"""How the settings of code search were chosen: each one's share, and cross-validation over queries.

    python bench/code_search.py REPOSITORY --commit C --queries code.csv

Every combination of the settings below ranks every query once. The share of a setting is what is
lost when it alone goes back to its plain value. Cross-validation chooses the combination on four
fifths of the queries and scores it on the fifth, twenty times over: what it reports was not seen
when choosing.
"""

from __future__ import annotations

import argparse
import functools
import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fastrecall.corpus.code import load_code
from fastrecall.corpus.code_gold import CodeGold, load_code_gold
from fastrecall.embedding import embed
from fastrecall.measure import Found, Judgments, Metric, bootstrap_difference
from fastrecall.search.bm25 import BM25
from fastrecall.search.code_text import chunk_text, fields, without_question_words

METRICS = tuple(map(Metric.parse, ("mrr", "ndcg@10", "hit@5", "hit@10", "recall@5", "recall@10")))
DEPTH = 20
REPEATS = 20
FOLDS = 5

Setting: TypeAlias = str
Floats: TypeAlias = npt.NDArray[np.float64]

CHOICES: Mapping[Setting, tuple[Any, ...]] = {
    "question words": ("dropped", "kept"),
    "fields (path, symbols, documentation, body)": (
        (3.0, 6.0, 2.0, 1.0),
        (1.0, 1.0, 0.001, 1.0),
        (2.0, 4.0, 1.0, 1.0),
        (4.0, 9.0, 3.0, 1.0),
    ),
    "vectors": ("code + summary", "code", "summary"),
    "fusion": ("z 0.9", "z 0.6", "z 1.2", "rrf", "bm25 alone", "vectors alone"),
}
"""Every setting with its values; the first is the default of the package, the second the plain
one."""

PLAIN: Mapping[Setting, Any] = {name: values[1] for name, values in CHOICES.items()} | {
    "fusion": "rrf"
}
DEFAULT: Mapping[Setting, Any] = {name: values[0] for name, values in CHOICES.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("repository", type=Path)
    parser.add_argument("--commit")
    parser.add_argument("--queries", type=Path, required=True)
    options = parser.parse_args()
    lab = Lab(options.repository, options.commit, load_code_gold(options.queries))
    names = list(CHOICES)
    grid = [
        dict(zip(names, values, strict=True)) for values in itertools.product(*CHOICES.values())
    ]
    scores = np.stack([lab.scores(settings) for settings in grid])  # [settings, queries, metrics]
    print(f"{len(grid)} combinations, {scores.shape[1]} queries\n")
    print(" " * 56 + "  ".join(f"{metric!s:>9}" for metric in METRICS))
    show("default", scores[grid.index(dict(DEFAULT))])
    show("all plain", scores[grid.index(dict(PLAIN))])
    for arm in ("bm25 alone", "vectors alone"):
        show(arm, scores[grid.index({**DEFAULT, "fusion": arm})])
    print("\none setting back to its plain value; what the default gains in MRR, bootstrap 95 %")
    default = scores[grid.index(dict(DEFAULT))]
    for name in names:
        other = scores[grid.index({**DEFAULT, name: PLAIN[name]})]
        low, high = bootstrap_difference(default[:, 0], other[:, 0])
        gain = (default[:, 0] - other[:, 0]).mean()
        show(f"{name.partition(' (')[0]}: {PLAIN[name]}", other)
        print(f"    {gain:+.3f} [{low:+.3f}, {high:+.3f}]")
    print("\ncross-validation: mean of the held-out folds, standard deviation between repeats")
    cross_validate(scores, grid)


class Lab:
    """The pieces that combinations share, each computed once."""

    def __init__(self, repository: Path, commit: str | None, gold: CodeGold) -> None:
        corpus = load_code(repository, commit=commit)
        self.chunks = [chunk for chunk in corpus.chunks if chunk.is_code]
        self.texts = [chunk_text(chunk) for chunk in self.chunks]
        self.gold = gold
        self.queries = [query.text for query in gold.queries]
        asked = embed(self.queries, kind="query").astype(np.float64)
        code = asked @ embed([text.head for text in self.texts]).T
        summary = asked @ embed([text.summary for text in self.texts]).T
        self.vectors = {"code": code, "summary": summary, "code + summary": code + summary}
        rows = np.repeat(np.arange(len(gold)), [len(query.targets) for query in gold.queries])
        grades = [target.grade for query in gold.queries for target in query.targets]
        self.judgments = Judgments.from_pairs(rows, np.arange(len(rows)), grades, count=len(gold))

    def scores(self, settings: Mapping[Setting, Any]) -> Floats:
        """Every metric of every query, ``[queries, metrics]``."""
        lexical = self.lexical(
            settings["question words"],
            settings["fields (path, symbols, documentation, body)"],
        )
        return self._scored(fused(lexical, self.vectors[settings["vectors"]], settings["fusion"]))

    @functools.lru_cache(maxsize=1)  # noqa: B019  (the grid varies the others fastest)
    def lexical(self, question_words: str, weights: tuple[float, ...]) -> Floats:
        by_field = fields(self.texts)
        index = BM25(by_field, weights=dict(zip(by_field, weights, strict=True)))
        asked = self.queries
        if question_words == "dropped":
            asked = [without_question_words(query) for query in asked]
        return np.stack([index.scores(query) for query in asked])

    def _scored(self, scores: Floats) -> Floats:
        order = np.argsort(-scores, axis=1, kind="stable")[:, :DEPTH]
        found, credited = [], []
        for query, ranking in zip(self.gold.queries, order, strict=True):
            chunks = [self.chunks[at] for at in ranking]
            found += [rank or 0 for rank in query.first_ranks(chunks)]
            credited += [rank or 0 for rank in query.credited_ranks(chunks)]
        return np.stack(
            [
                metric.score(
                    Found(self.judgments, np.array(credited if metric.name == "ndcg" else found))
                )
                for metric in METRICS
            ],
            axis=1,
        )


def fused(lexical: Floats, semantic: Floats, fusion: str) -> Floats:
    if fusion == "bm25 alone":
        return lexical
    if fusion == "vectors alone":
        return semantic
    if fusion == "rrf":
        return 1 / (60 + ranks(lexical)) + 1 / (60 + ranks(semantic))
    return z(semantic) + float(fusion.removeprefix("z ")) * z(lexical)


def z(scores: Floats) -> Floats:
    return (scores - scores.mean(axis=1, keepdims=True)) / scores.std(axis=1, keepdims=True)


def ranks(scores: Floats) -> Floats:
    """Ranks from 1 down to the hundredth; what lies behind counts as far away."""
    order = np.argsort(-scores, axis=1, kind="stable")[:, :100]
    found = np.full(scores.shape, np.inf)
    np.put_along_axis(found, order, np.arange(1.0, order.shape[1] + 1)[None, :], axis=1)
    return found


def folds(queries: int) -> Iterator[list[npt.NDArray[np.int64]]]:
    for repeat in range(REPEATS):
        yield np.array_split(np.random.default_rng(repeat).permutation(queries), FOLDS)


def cross_validate(scores: Floats, grid: list[dict[Setting, Any]]) -> None:
    queries = scores.shape[1]
    chosen: dict[int, int] = {}
    repeats = []
    for parts in folds(queries):
        held_out = np.empty((queries, len(METRICS)))
        for part in parts:
            others = np.setdiff1d(np.arange(queries), part)
            # MRR and NDCG@10: the two means that are not steps of one query.
            best = int(scores[:, others, :2].mean(axis=(1, 2)).argmax())
            chosen[best] = chosen.get(best, 0) + 1
            held_out[part] = scores[best, part]
        repeats.append(held_out.mean(axis=0))
    means, spread = np.mean(repeats, axis=0), np.std(repeats, axis=0, ddof=1)
    print(f"{'chosen on the other folds':56}" + "  ".join(f"{value:9.3f}" for value in means))
    print(f"{'  ±':56}" + "  ".join(f"{value:9.3f}" for value in spread))
    print("chosen most often:")
    for place in sorted(chosen, key=lambda place: -chosen[place])[:5]:
        print(f"  {chosen[place]:3d} of {REPEATS * FOLDS}: {grid[place]}")


def show(name: str, scores: Floats) -> None:
    print(f"{name:56}" + "  ".join(f"{value:9.3f}" for value in scores.mean(axis=0)))


if __name__ == "__main__":
    main()
