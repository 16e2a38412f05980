"""How well the arm `best` recalls without links of one's own, per repository and pooled.

Run from the repository root::

    python bench/best.py [--corpora ../shared/corpora] [--query title|title+body] [--ablation]

Every corpus folder but ``merged`` (the union of the others) is asked leave-one-out: the gold pairs
of the published pattern, 32 nodes returned. Compared with the nearest PRs by cosine of the plain
node texts (the arm ``semantic, PRs only``) by McNemar's exact test. ``--ablation`` also leaves out
one part at a time.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal
from unittest import mock

import numpy as np
import numpy.typing as npt

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "python"))

from fastrecall.corpus import (  # noqa: E402
    find_links,
    gold_from_links,
    load_corpus,
    node_texts,
    query_text,
)
from fastrecall.embedding import embed  # noqa: E402
from fastrecall.measure import PairedHits, mcnemar, newcombe_paired, wilson  # noqa: E402
from fastrecall.search import evidence, lending  # noqa: E402
from fastrecall.search.best import Best  # noqa: E402
from fastrecall.search.exact import ExactIndex  # noqa: E402
from fastrecall.search.plain_cosines import PlainCosines  # noqa: E402

BUDGET = 32


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--corpora", type=Path, default=ROOT.parent / "shared" / "corpora")
    parser.add_argument("--query", choices=("title", "title+body"), default="title")
    parser.add_argument("--ablation", action="store_true")
    arguments = parser.parse_args()
    folders = sorted(f for f in arguments.corpora.iterdir() if f.is_dir() and f.name != "merged")
    cases = [Case(folder, arguments.query) for folder in folders]

    head = f"{'query: ' + arguments.query:<34}{'pairs':>6}  {'best':<32}{'PRs only':<11}"
    print(f"{head}ms/query, embedding included")
    prs_only = [case.prs_only() for case in cases]
    hits = []
    for case, baseline in zip(cases, prs_only, strict=True):
        start = time.perf_counter()
        hits.append(case.ask())
        per_query = 1000 * (time.perf_counter() - start) / len(case.queries)
        line = f"{case.name:<34}{len(baseline):>6}  {share(hits[-1]):<32}"
        print(f"{line}{100 * baseline.mean():<11.1f}{per_query:.2f}")
    pooled, before = np.concatenate(hits), np.concatenate(prs_only)
    print(f"{'pooled':<34}{len(pooled):>6}  {share(pooled):<32}{100 * before.mean():<11.1f}")
    print(against(pooled, before, "against PRs only"))
    if arguments.ablation:
        for label, target, name, value in ABLATIONS:
            with mock.patch.object(target, name, value):
                without = np.concatenate([case.ask() for case in cases])
            print(f"{label:<40}  {share(without):<32}{against(without, pooled, 'against all')}")


def no_means(
    _: PlainCosines, lacking: npt.NDArray[np.int64], kind: slice, total: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    return np.zeros((len(lacking), len(total)))


ABLATIONS = (
    ("no links", lending, "LINK_DISCOUNT", np.inf),
    ("no words", evidence, "WORDS_WEIGHT", 0.0),
    ("vectors as they are", PlainCosines, "_mean_without", no_means),
    ("title not asked alone", evidence, "TITLE_WEIGHT", 0.0),
)


class Case:
    """One corpus with its questions."""

    def __init__(self, folder: Path, query: str) -> None:
        self.name = folder.name
        self.corpus = load_corpus(folder)
        self.links = find_links(self.corpus).of("published")
        pairs = gold_from_links(self.corpus, self.links).pairs
        issues = sorted({pair.issue_node for pair in pairs})
        self.issues = np.array(issues, dtype=np.int32)
        self.queries = [query_text(self.corpus.tickets[node], query) for node in issues]
        self.rows = [issues.index(pair.issue_node) for pair in pairs]
        self.targets = [pair.pr_node for pair in pairs]
        self.best = Best.of_corpus(self.corpus, self.links, embed=embedder)

    def ask(self) -> npt.NDArray[np.bool_]:
        """Whether each pair's PR is returned, leave-one-out."""
        return self.hits(self.best.search(self.queries, BUDGET, exclude=self.issues)[0])

    def prs_only(self) -> npt.NDArray[np.bool_]:
        """The same for the nearest PRs by cosine of the node texts."""
        index = ExactIndex(embed(node_texts(self.corpus)))
        vectors = embed(self.queries, kind="query")
        ids, _ = index.search(vectors, BUDGET, exclude=self.issues, mask=self.corpus.is_pr)
        return self.hits(ids)

    def hits(self, ids: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        found = [target in ids[row] for row, target in zip(self.rows, self.targets, strict=True)]
        return np.array(found)


def embedder(texts: Sequence[str], kind: Literal["passage", "query"]) -> npt.NDArray[np.float32]:
    return embed(texts, kind=kind)


def share(hits: npt.NDArray[np.bool_]) -> str:
    low, high = wilson(int(hits.sum()), len(hits))
    return f"{hits.sum()} = {100 * hits.mean():.1f} % [{100 * low:.1f}, {100 * high:.1f}]"


def against(mine: npt.NDArray[np.bool_], other: npt.NDArray[np.bool_], label: str) -> str:
    pairs = PairedHits.of(mine, other)
    low, high = newcombe_paired(*pairs)
    gain = 100 * (mine.mean() - other.mean())
    return (
        f"{label}: {gain:+.1f} points [{100 * low:+.1f}, {100 * high:+.1f}], "
        f"{pairs.first} won, {pairs.second} lost, "
        f"McNemar p = {mcnemar(pairs.first, pairs.second):.2g}"
    )


if __name__ == "__main__":
    main()
