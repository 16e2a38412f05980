"""The figures of a project beside its recall, as one document."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from fastrecall._memory import parse_bytes
from fastrecall.corpus import find_links
from fastrecall.embedding import embed, resolve_model
from fastrecall.errors import InputError
from fastrecall.measure.intervals import wilson
from fastrecall.study.record import versions
from fastrecall.study.stats.rework import (
    days_between,
    gaps,
    group_block,
    median_days,
    reverts_of,
    shared_links,
    titled,
)
from fastrecall.study.stats.rules import Rules, load_rules
from fastrecall.study.stats.titles import Groups, exact_groups, near_groups
from fastrecall.study.stats.traces import Traces, find_traces
from fastrecall.types import Corpus, Kind, LinkSource

SCHEMA = 1
THRESHOLD = 0.95
NEIGHBOURS = 16
TOP = 10

_KINDS: tuple[tuple[Kind, str], ...] = (("issue", "issues"), ("pr", "prs"))
_WORDS = ("flaky", "regression")
_TITLE_CHARACTERS = 120
_BYTES_OF_TITLE = 8192
"""What a title takes that is compared with all others: its text, its vector three times, lists."""


def project_stats(
    corpus: Corpus,
    *,
    links: Sequence[LinkSource] = ("published",),
    threshold: float = THRESHOLD,
    top: int = TOP,
    traces: str | os.PathLike[str] | None = None,
    model: str = "minilm",
    threads: int | None = None,
    cache: bool | Path = True,
    memory: int | str | None = None,
) -> dict[str, Any]:
    """What a corpus tells about coding agents, automation, and work that returns.

    Args:
        corpus: loaded without author filter, for bots are part of the answer.
        links: the sources of closing links.
        threshold: the least cosine of two titles that are nearly the same.
        top: how many groups to name.
        traces: a TOML file that adds to the table of traces.
        model: the embedding model for titles.
        threads: threads to use; never changes a figure.
        cache: where vectors are kept, as for `fastrecall.embed`.
        memory: bytes, or an amount such as ``"4GB"``: titles that are nearly the same are looked
            for only where the vectors of all titles and what comparing them takes stay below it;
            else ``near`` is None, and a note says so. All else reads the tickets one by one and
            holds their titles' groups, about 200 bytes a ticket.

    Returns:
        A document of plain values; equal input gives equal figures, apart from ``timings``.

    Raises:
        InputError: a threshold out of range, or a file of traces that cannot be used.
        ModelError: the model cannot be had.

    >>> from fastrecall.corpus import load_corpus
    >>> stats = project_stats(load_corpus("demo", author_filter=None), model="fake", cache=False)
    >>> stats["agents"]["prs"], stats["returns"]["reverts"]["prs"]
    (39, 14)
    """
    if not -1.0 <= threshold <= 1.0:
        raise InputError(f"threshold is {threshold}; expected a cosine from -1 to 1")
    most = None if memory is None else parse_bytes(memory) // _BYTES_OF_TITLE
    rules = load_rules(traces)
    began = time.perf_counter()
    found = find_traces(corpus, rules)
    prs = [node for node, is_pr in enumerate(corpus.is_pr.tolist()) if is_pr]
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "versions": versions(),
        "settings": {
            "links": list(links),
            "threshold": threshold,
            "neighbours": NEIGHBOURS,
            "traces": list(rules.sources),
            "model": resolve_model(model, cache=cache).id,
        },
        "corpus": _corpus_block(corpus, len(prs)),
        "agents": _agents_block(corpus, rules, found, prs),
        "automation": _automation_block(found, prs),
        "returns": _returns_block(corpus, links, top),
    }
    figures = time.perf_counter()
    document["titles"] = {
        plural: _titles_block(corpus, kind, threshold, top, model, threads, cache, most)
        for kind, plural in _KINDS
    }
    document["corpus"]["notes"] += [
        f"{plural}: titles that are nearly the same were not looked for, since vectors of all "
        "titles take more than --memory"
        for plural, block in document["titles"].items()
        if block["near"] is None
    ]
    ended = time.perf_counter()
    document["timings"] = {
        "figures": round(figures - began, 3),
        "titles": round(ended - figures, 3),
    }
    return document


def _corpus_block(corpus: Corpus, prs: int) -> dict[str, Any]:
    times = corpus.created_at
    return {
        "name": corpus.name,
        "issues": len(corpus) - prs,
        "prs": prs,
        "repos": list(corpus.repos),
        "fingerprint": corpus.fingerprint,
        "first": _month(int(times.min())) if len(corpus) else None,
        "last": _month(int(times.max())) if len(corpus) else None,
        "notes": list(corpus.notes),
    }


def _share(count: int, of: int) -> dict[str, Any]:
    return {
        "prs": count,
        "of": of,
        "share": count / of if of else None,
        "wilson95": list(wilson(count, of)),
    }


def _agents_block(corpus: Corpus, rules: Rules, found: Traces, prs: list[int]) -> dict[str, Any]:
    nodes = found.of_agents()
    by_agent = {}
    for agent in rules.agents:
        accounts, texts = found.accounts.get(agent.key, []), found.texts.get(agent.key, [])
        by_agent[agent.key] = {
            "title": agent.title,
            "prs": len({*accounts, *texts}),
            "accounts": _refs(corpus, accounts),
            "texts": _refs(corpus, texts),
        }
    return {
        **_share(len(nodes), len(prs)),
        "by_agent": by_agent,
        "months": _months(corpus, nodes, prs),
    }


def _months(corpus: Corpus, nodes: list[int], prs: list[int]) -> list[dict[str, Any]]:
    """PRs with and without traces in each month from the first trace on."""
    traced = Counter(map(_month, corpus.created_at[nodes].tolist()))
    if not traced:
        return []
    first = min(traced)
    every = Counter(map(_month, corpus.created_at[prs].tolist()))
    return [
        {"month": month, **_share(traced[month], every[month])}
        for month in sorted(every)
        if month >= first
    ]


def _automation_block(found: Traces, prs: list[int]) -> dict[str, Any]:
    by_account = sorted(found.automation.items(), key=lambda item: (-len(item[1]), item[0]))
    return {
        **_share(len(found.of_automation()), len(prs)),
        "by_account": {login: len(nodes) for login, nodes in by_account},
    }


def _returns_block(corpus: Corpus, links: Sequence[LinkSource], top: int) -> dict[str, Any]:
    reverts = reverts_of(corpus)
    issues, prs = shared_links(find_links(corpus).of(*links))
    of_word = titled(corpus, _WORDS)
    return {
        "reverts": {
            "prs": len(reverts.nodes),
            "refs": _refs(corpus, reverts.nodes),
            "known": len(reverts.pairs),
            "median_days_until": median_days(days_between(corpus, reverts.pairs)),
            "back": len(reverts.back),
            "median_days_back": median_days(days_between(corpus, reverts.back)),
        },
        **{
            word: {plural: _refs(corpus, of_word[word, kind]) for kind, plural in _KINDS}
            for word in _WORDS
        },
        "issues_of_several_prs": {
            "issues": len(issues),
            "median_days_between": median_days(gaps(corpus, issues.values())),
            "top": _most(corpus, issues, top),
        },
        "prs_of_several_issues": {"prs": len(prs), "top": _most(corpus, prs, top)},
    }


def _most(corpus: Corpus, several: dict[int, list[int]], top: int) -> list[dict[str, Any]]:
    order = sorted(several.items(), key=lambda item: (-len(item[1]), item[0]))
    return [
        {
            "ref": corpus.columns.ref(node),
            "title": corpus.tickets[node].title,
            "others": _refs(corpus, others),
        }
        for node, others in order[:top]
    ]


def _titles_block(
    corpus: Corpus,
    kind: Kind,
    threshold: float,
    top: int,
    model: str,
    threads: int | None,
    cache: bool | Path,
    most: int | None,
) -> dict[str, Any]:
    exact = exact_groups(corpus, kind)
    if most is not None and len(exact) > most:
        return {"exact": group_block(corpus, exact, top), "near": None}
    firsts = corpus.read(group[0] for group in exact)
    titles = [ticket.title[:_TITLE_CHARACTERS] for _, ticket in firsts]
    near: Groups = exact
    if len(exact) > 1:
        vectors = embed(titles, model=model, threads=threads, cache=cache)
        near = near_groups(
            exact, vectors, threshold=threshold, neighbours=NEIGHBOURS, threads=threads
        )
    return {"exact": group_block(corpus, exact, top), "near": group_block(corpus, near, top)}


def _refs(corpus: Corpus, nodes: Iterable[int]) -> list[str]:
    return list(map(corpus.columns.ref, nodes))


def _month(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m")
