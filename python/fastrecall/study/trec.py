"""An evaluation's rankings and gold as TREC run and qrels files (FACTS D1)."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from fastrecall.measure.trec import write_qrels, write_run
from fastrecall.search.arms import ARMS
from fastrecall.study.evaluation import Evaluation
from fastrecall.types import Corpus


def write_trec(evaluation: Evaluation, folder: str | os.PathLike[str]) -> None:
    """Write ``PROTOCOL.qrels`` and ``PROTOCOL.ARM.run`` for every protocol and cut arm.

    A query is named after its issue, a document after its ticket: ``owner/name/issue-12``. Where
    gold has one issue ask in several wordings, the second is ``owner/name/issue-12.2``. Arms are
    written up to the budget; uncut walks, which return hundreds of nodes to a query, are left out.
    Scores fall by one a rank, for walks have no other order.
    """
    folder = Path(folder)
    corpus = evaluation.corpus
    budget = evaluation.record["settings"]["budget"]
    for protocol, asked in evaluation.asked.items():
        names: dict[int, str] = {}
        judged: dict[str, dict[str, int]] = {}
        wordings = Counter[str]()
        for pair, row, target in zip(
            asked.pairs, asked.rows.tolist(), asked.targets.tolist(), strict=True
        ):
            if row not in names:
                issue = _name(pair.repo, "issue", pair.issue)
                wordings[issue] += 1
                names[row] = issue if wordings[issue] == 1 else f"{issue}.{wordings[issue]}"
            judged.setdefault(names[row], {})[document_name(corpus, target)] = pair.grade
        write_qrels(folder / f"{protocol}.qrels", judged)
        for arm, answers in evaluation.found[protocol].items():
            if not ARMS[arm].cut:
                continue
            heads = answers.ids[:, :budget].tolist()
            run = {name: _listed(corpus, heads[row]) for row, name in names.items()}
            write_run(folder / f"{protocol}.{arm}.run", run, tag=f"fastrecall-{arm}")


def document_name(corpus: Corpus, node: int) -> str:
    """The name of a node's ticket in TREC files.

    >>> from fastrecall.corpus import make_corpus
    >>> from fastrecall.types import Ticket
    >>> document_name(make_corpus([Ticket("o/r", "pr", 7, "", "", 0)], name=""), 0)
    'o/r/pr-7'
    """
    return _name(*corpus.columns.name(node))


def _name(repo: str, kind: str, number: int) -> str:
    return f"{repo}/{kind}-{number}" if repo else f"{kind}-{number}"


def _listed(corpus: Corpus, ranking: list[int]) -> dict[str, float]:
    nodes = [node for node in ranking if node >= 0]
    return {document_name(corpus, node): float(len(nodes) - i) for i, node in enumerate(nodes)}
