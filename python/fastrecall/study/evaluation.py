"""The evaluation: ask every protocol of every arm and write down what came back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fastrecall import corpus as corpus_room
from fastrecall._memory import parse_bytes
from fastrecall._threads import resolve_threads
from fastrecall.corpus.text import QueryMode
from fastrecall.embedding import embed
from fastrecall.errors import CorpusError, InputError
from fastrecall.execution import Executor
from fastrecall.search.arms import ARMS, BEST, DEFAULT_ARMS, REASONING, Finder, symptom
from fastrecall.search.best import Best
from fastrecall.search.reasoning import Reasoner
from fastrecall.search.ticket_reasoning import TicketReasoning
from fastrecall.study.answers import Answers
from fastrecall.study.asking import Asking
from fastrecall.study.breakdown import Grouped, break_down, group_pairs
from fastrecall.study.clock import Clock
from fastrecall.study.link_overlap import link_overlap
from fastrecall.study.mean_intervals import mean_intervals
from fastrecall.study.memory_of import Embedding, memory_of
from fastrecall.study.protocols import PROTOCOLS, Asked, Case
from fastrecall.study.reasoning_block import reasoning_block
from fastrecall.study.record import SCHEMA, Record, versions
from fastrecall.study.rows import Rows
from fastrecall.study.settings import Settings, one_of
from fastrecall.study.summary import SAMPLES, arm_blocks, gain_blocks, hits_of
from fastrecall.study.titles import titles_of
from fastrecall.types import Corpus, Gold, GoldPair, LinkSource, VectorSource

SIMILAR_NODES = 100_000
"""Up to so many nodes every arm runs unasked under a bound on memory."""

BEST_PAIRS = 1000
"""Up to so many gold pairs the arm `best` runs unasked: it takes a millisecond a question."""


@dataclass(frozen=True)
class Evaluation:
    """A record with what it was made from: questions and answers by protocol (and arm)."""

    record: Record
    corpus: Corpus
    asked: dict[str, Asked]
    found: dict[str, dict[str, Answers]]


def evaluate(corpus: Corpus, **options: Any) -> Record:
    """Measure how well *corpus* recalls the fixes of its own issues.

    Takes the options of `evaluate_in_full`; returns the record alone.

    >>> import fastrecall as fr
    >>> record = fr.evaluate(fr.load_corpus("demo"), model="fake", cache=False)
    >>> record["protocols"]["published"]["pairs"]
    293
    """
    return evaluate_in_full(corpus, **options).record


def evaluate_in_full(
    corpus: Corpus,
    *,
    gold: Gold | None = None,
    protocols: Iterable[str] | None = None,
    arms: Iterable[str] | None = None,
    budget: int = 32,
    seeds: int | None = None,
    depth: int = 3,
    undirected: bool = False,
    links: Sequence[LinkSource] = ("published",),
    query: QueryMode = "title",
    reasoner: Reasoner | None = None,
    model: str = "minilm",
    threads: int | None = None,
    cache: bool | Path = True,
    seed: int = 0,
    memory: int | str | None = None,
    vectors: VectorSource | None = None,
    question_vectors: Mapping[str, npt.ArrayLike] | None = None,
    executor: Executor | None = None,
) -> Evaluation:
    """Measure how well *corpus* recalls the fixes of its own issues, and keep the rankings.

    ``gold`` defaults to the pairs that the closing ``links`` themselves give; ``protocols`` and
    ``arms`` to all of them (`best` only up to `BEST_PAIRS` pairs). A ``reasoner`` adds the arm
    ``hybrid_reasoning``, which like every arm returns up to the budget (its ``final_top_k`` does
    not count here). The other options mean what
    `Settings` says; ``threads`` defaults to all usable cores and never changes a result.

    With ``memory`` (bytes, or an amount such as ``"4GB"``) texts, vectors and words stay in files
    below the cache folder and are searched block by block, with the same results; a run that was
    stopped goes on there. Half of the amount bounds what a search allocates; the other half has
    room for the interpreter and the model, 40 bytes a node, and about 4 kB a gold pair. Of more
    than `SIMILAR_NODES` nodes the arms that need more than that run only when they are named:
    `semantic_similar` compares all nodes with each other, `best` holds all texts and vectors.

    An ``executor`` runs what takes long, as tasks of ``memory`` each (1 GiB when not said) on the
    same files: embedding, counting words, exact search and nearest neighbours. What is left are
    walks and statistics, and all of `best`. Tasks on other machines need to see the cache folder.

    ``vectors`` of the nodes, one row each in node order, spare embedding them; questions are
    embedded by ``model`` all the same, unless ``question_vectors`` has one for each text.

    Raises:
        InputError: an unknown protocol, arm, link source or query form, a count below 1, or
            vectors that do not fit.
        CorpusError: no gold pair can be asked.
        ModelError: the embedding model cannot be had.
        RemoteError: a rerank call failed and the reasoner is told to stop then.
    """
    settings = Settings(
        protocols=_chosen("protocol", protocols, tuple(PROTOCOLS)),
        arms=_chosen_arms(arms, reasoner),
        budget=budget,
        seeds=seeds,
        depth=depth,
        undirected=undirected,
        links=tuple(links),
        query=query,
        seed=seed,
    )
    budget_of_memory = None if memory is None else parse_bytes(memory)
    clock = Clock()
    case = _case(corpus, gold, settings)
    notes = list(corpus.notes)
    if arms is None:
        settings, left_out = _affordable(case, bounded=memory is not None)
        case = replace(case, settings=settings)
        notes += left_out
    asked = _ask(case, required=protocols is not None)
    clock.lap("links and gold")

    embedding = Embedding(model, threads, cache, vectors, question_vectors)
    searched = memory_of(
        corpus,
        embedding,
        untitled=_untitled(asked, settings),
        neighbours=settings.neighbours,
        budget=budget_of_memory,
        executor=executor,
    )
    wordings = sorted({text for question in asked.values() for text in question.texts})
    of_wordings = embedding.of_questions(wordings)
    best = _best(case, asked, model=model, threads=threads, cache=cache)
    clock.lap("embedding")

    row = {text: i for i, text in enumerate(wordings)}
    reasoning = None if reasoner is None else TicketReasoning(reasoner, corpus.tickets)
    asking = Asking(searched, asked, row, of_wordings, settings, reasoning, best)
    rows = Rows(case)
    own_first: dict[str, int | None] = {}
    breakdowns: dict[str, Any] = {}
    groups: dict[tuple[GoldPair, ...], Grouped] = {}
    for key, question in asked.items():
        finder, answers = asking.ask(key)
        clock.count_queries(key, finder.arm_seconds, len(question.texts))
        own_first[key] = _own_issue_first(question, finder)
        rows.add(key, question, finder, answers)
        if question.pairs not in groups:
            groups[question.pairs] = group_pairs(case, question)
        breakdowns[key] = break_down(groups[question.pairs], hits_of(answers, settings.budget))
    clock.lap("search")
    intervals = mean_intervals(asked, asking.found, settings, threads=resolve_threads(threads))
    blocks = {
        key: {
            **_question_block(key, question),
            "own_issue_first": own_first[key],
            "arms": arm_blocks(
                question, asking.found[key], budget=settings.budget, intervals=intervals[key]
            ),
        }
        for key, question in asked.items()
    }
    gains = gain_blocks(asked, asking.found, intervals, settings)
    clock.lap("intervals and tests")
    record = Record(
        {
            "schema": SCHEMA,
            "versions": versions(),
            "settings": settings.as_dict() | {"samples": SAMPLES},
            "model": _model_block(embedding),
            "corpus": _corpus_block(corpus, case.gold, notes),
            "protocols": blocks,
            "gain": gains,
            "breakdowns": breakdowns,
            "links": link_overlap(corpus, case.found),
            "queries": rows.as_list(),
            "tickets": titles_of(corpus, rows.told),
            "timings": clock.as_dict(),
        }
        | ({} if reasoning is None else {"reasoning": _reasoning_block(reasoning, settings)})
    )
    return Evaluation(record, corpus, asked, asking.found)


def _affordable(case: Case, *, bounded: bool) -> tuple[Settings, list[str]]:
    """The settings without the arms that nobody asked for and that take too much, and notes."""
    settings, notes = case.settings, []
    pairs, nodes = len(case.gold), len(case.corpus)
    left_out: dict[str, str] = {}
    if bounded and nodes > SIMILAR_NODES:
        left_out["best"] = f"it would hold the texts and vectors of {nodes:,} nodes in memory"
        left_out["semantic_similar"] = f"it would compare {nodes:,} nodes with each other"
        left_out["semantic_similar_uncut"] = "so would it"
    elif pairs > BEST_PAIRS:
        left_out["best"] = f"{pairs} pairs would take it long"
    for arm, reason in left_out.items():
        if arm in settings.arms:
            settings = replace(settings, arms=tuple(one for one in settings.arms if one != arm))
            notes.append(
                f"the arm '{arm}' is left out, for {reason}; "
                f"name the arms to have it (--arm semantic_prs --arm {arm})"
            )
    return settings, notes


def _best(
    case: Case, asked: Mapping[str, Asked], *, threads: int | None, **options: Any
) -> Best | None:
    """What the arm of that name searches, its questions embedded; None where it has none.

    Wherever it is asked, the links are those of the case.
    """
    settings = case.settings
    questions = [question for question in asked.values() if BEST in question.arms_of(settings)]
    if not questions:
        return None
    best = Best.of_corpus(
        case.corpus,
        case.links,
        embed=lambda texts, kind: embed(texts, kind=kind, threads=threads, **options),
        threads=threads,
    )
    texts = dict.fromkeys(text for question in questions for text in question.texts)
    best.prepare([symptom(text, titled=settings.titled) for text in texts])
    return best


def _untitled(asked: Mapping[str, Asked], settings: Settings) -> set[int]:
    """The nodes that are indexed without their title: when bodies ask, all issues that ask.

    Otherwise a body would find its own issue with the help of a title that it does not have.
    """
    if settings.query != "body":
        return set()
    return set[int]().union(*(question.nodes.tolist() for question in asked.values()))


def _chosen(what: str, names: Iterable[str] | None, known: tuple[str, ...]) -> tuple[str, ...]:
    """The chosen names, in the order of tables."""
    if names is None:
        return known
    wanted = {one_of(what, name, known) for name in names}
    return tuple(name for name in known if name in wanted)


def _chosen_arms(names: Iterable[str] | None, reasoner: Reasoner | None) -> tuple[str, ...]:
    """The chosen arms; a reasoner's arm is there when there is a reasoner, and only then."""
    chosen = DEFAULT_ARMS if names is None else _chosen("arm", names, tuple(ARMS))
    if reasoner is not None:
        return tuple(arm for arm in ARMS if arm in chosen or arm == REASONING)
    if REASONING in chosen:
        raise InputError(f"arm '{REASONING}' asks a language model; add --reasoning")
    return chosen


def _case(corpus: Corpus, gold: Gold | None, settings: Settings) -> Case:
    """Links and gold; a corpus that was made from a gold file has no other links than that."""
    if corpus.titles_only and gold is not None:
        found = links = corpus_room.links_from_gold(corpus, gold)
    else:
        found = corpus_room.find_links(corpus)
        links = found.of(*settings.links)
    if gold is None:
        gold = corpus_room.gold_from_links(corpus, links, settings.links)
    if not any(pair.pr_node >= 0 for pair in gold.pairs):
        raise CorpusError(
            f"{corpus.name}: nothing to ask, for none of {len(gold)} gold pairs has its PR among "
            f"the {len(corpus)} nodes (links: {'+'.join(settings.links)}); try other link sources "
            "(--links github+title) or give pairs with --gold"
        )
    return Case(corpus, links, gold, settings, found)


def _ask(case: Case, *, required: bool) -> dict[str, Asked]:
    """The questions of each protocol; one that has none is left out, or fails when *required*.

    So is one that no chosen arm answers.
    """
    asked = {key: PROTOCOLS[key].ask(case) for key in case.settings.protocols}
    unanswered = [key for key, question in asked.items() if not question.arms_of(case.settings)]
    if unanswered and (required or len(unanswered) == len(asked)):
        raise InputError(
            f"protocol '{unanswered[0]}' stores the issue that asks, and "
            f"{' and '.join(case.settings.arms)} answers new symptoms only; leave that protocol "
            "out, or choose more arms"
        )
    asked = {key: question for key, question in asked.items() if key not in unanswered}
    empty = [key for key, question in asked.items() if not question.pairs]
    if empty and required:
        raise CorpusError(
            f"{case.corpus.name}: protocol '{empty[0]}' has no question to ask here; "
            "leave it out, or use a corpus that names duplicates of issues with a gold pair"
        )
    return {key: question for key, question in asked.items() if key not in empty}


def _question_block(key: str, question: Asked) -> dict[str, Any]:
    return {
        "title": PROTOCOLS[key].title,
        "sentence": PROTOCOLS[key].sentence,
        "pairs": len(question.pairs),
        "queries": len(question.texts),
        "unreachable": len(question.unreachable),
        **({} if question.allowed is None else {"not_yet": int(question.not_yet.sum())}),
        **({"kept_links": question.kept_links} if question.kept_links else {}),
    }


def _own_issue_first(question: Asked, finder: Finder) -> int | None:
    """How many questions find their own issue first; None where it does not exist."""
    if question.symptoms_are_new:
        return None
    first = finder.ranked("semantic").ids[:, 0]
    return int(np.count_nonzero((first == question.nodes) & (question.nodes >= 0)))


def _reasoning_block(reasoning: TicketReasoning, settings: Settings) -> dict[str, Any]:
    return reasoning_block(reasoning.reasoner, reasoning.results, top=settings.budget)


def _model_block(embedding: Embedding) -> dict[str, Any]:
    if embedding.nodes is not None and embedding.questions is not None:
        return {"id": "given", "dim": embedding.nodes.dim}
    given = {} if embedding.nodes is None else {"node_vectors": "given"}
    return embedding.info().as_dict() | given


def _corpus_block(corpus: Corpus, gold: Gold, notes: list[str]) -> dict[str, Any]:
    prs = int(corpus.is_pr.sum())
    return {
        "name": corpus.name,
        "issues": len(corpus) - prs,
        "prs": prs,
        "nodes": len(corpus),
        "repos": list(corpus.repos),
        "pairs": len(gold),
        "gold_origin": gold.origin,
        "fingerprint": corpus.fingerprint,
        "gold_fingerprint": gold.fingerprint,
        "window": vars(corpus.cut),
        "notes": notes,
    }
