"""Break-downs: the hit rate of some arms, for pairs of one kind at a time."""

from __future__ import annotations

import functools
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fastrecall.measure.intervals import wilson
from fastrecall.search.tokens import mask_references, terms, words
from fastrecall.study.protocols import Asked, Case
from fastrecall.types import LINK_SOURCES, GoldPair

BROKEN_DOWN = ("semantic", "semantic_prs", "causal", "hybrid_causal", "best")
"""The arms that are broken down, where they ran; all arms would be too much to read."""

Flags: TypeAlias = npt.NDArray[np.bool_]
Groups: TypeAlias = dict[str, list[bool]]
"""Which pairs belong to a group, by the group's label, in the order of tables."""

DAY = 86_400
MOSTLY = 0.9
"""The share of letters that one script must have for the text to be in it."""
UNKNOWN = "unknown"


@dataclass(frozen=True)
class Material:
    """What groups are told from: the case, the pairs that were asked, and what asked for each."""

    case: Case
    pairs: tuple[GoldPair, ...]
    texts: tuple[str, ...]

    @cached_property
    def times(self) -> list[tuple[int, int]]:
        """When each pair's issue (0: it is not in the corpus) and PR were created."""
        created_at = self.case.corpus.created_at
        return [
            (
                int(created_at[pair.issue_node]) if pair.issue_node >= 0 else 0,
                int(created_at[pair.pr_node]),
            )
            for pair in self.pairs
        ]

    @cached_property
    def pr_titles(self) -> list[str]:
        """The title of each pair's PR."""
        read = self.case.corpus.read(pair.pr_node for pair in self.pairs)
        titles = {node: ticket.title for node, ticket in read}
        return [titles[pair.pr_node] for pair in self.pairs]

    @cached_property
    def body_lengths(self) -> list[int | None]:
        """The characters in the body of each pair's issue; None: it is not in the corpus."""
        nodes = (pair.issue_node for pair in self.pairs if pair.issue_node >= 0)
        lengths = {node: len(ticket.body) for node, ticket in self.case.corpus.read(nodes)}
        return [lengths.get(pair.issue_node) for pair in self.pairs]


@dataclass(frozen=True)
class Breakdown:
    """One way of grouping pairs; groups may overlap where the sentence says so."""

    key: str
    title: str
    sentence: str
    group: Callable[[Material], Groups]


Grouped: TypeAlias = dict[str, dict[str, Flags]]
"""For each break-down that tells something of the pairs, its groups ``[pairs]`` by label."""


def group_pairs(case: Case, asked: Asked) -> Grouped:
    """The groups of the pairs of *asked*, whatever was found of them.

    Groups without a pair are left out, and so is what a corpus cannot tell.
    """
    texts = tuple(asked.texts[row] for row in asked.rows.tolist())
    material = Material(case, asked.pairs, texts)
    grouped = {}
    for breakdown in BREAKDOWNS:
        groups = {
            label: np.array(members, dtype=np.bool_)
            for label, members in breakdown.group(material).items()
            if any(members)
        }
        if list(groups) not in ([], [UNKNOWN]):
            grouped[breakdown.key] = groups
    return grouped


def break_down(grouped: Grouped, hits: Mapping[str, Flags]) -> dict[str, Any]:
    """Every break-down of one protocol's hits, as the record holds them.

    ``hits[arm][i]`` says whether the arm found pair ``i`` of what was grouped; arms that are not
    in `BROKEN_DOWN` are left out, and without any of them there is nothing to break down.
    """
    chosen = {arm: hits[arm] for arm in BROKEN_DOWN if arm in hits}
    if not chosen:
        return {}
    return {
        breakdown.key: {
            "title": breakdown.title,
            "sentence": breakdown.sentence,
            "rows": [
                _row(label, members, chosen) for label, members in grouped[breakdown.key].items()
            ],
        }
        for breakdown in BREAKDOWNS
        if breakdown.key in grouped
    }


def _row(label: str, members: Flags, hits: Mapping[str, Flags]) -> dict[str, Any]:
    pairs = int(members.sum())
    arms = {}
    for arm, found in hits.items():
        count = int((found & members).sum())
        arms[arm] = {
            "hits": count,
            "rate": count / pairs,
            "wilson95": list(wilson(count, pairs)),
        }
    return {"label": label, "pairs": pairs, "arms": arms}


def _labelled(labels: Sequence[str], order: Iterable[str]) -> Groups:
    """Groups from one label a pair."""
    return {name: [label == name for label in labels] for name in order}


def _step(value: float, steps: Sequence[tuple[float, str]], rest: str) -> str:
    """The label of the first limit that *value* stays below."""
    return next((label for limit, label in steps if value < limit), rest)


def _by_issues_of_pr(material: Material) -> Groups:
    issues = Counter(pair.pr_node for pair in material.case.gold.pairs)
    steps, rest = ((2, "1"), (3, "2")), "3 or more"
    labels = [_step(issues[pair.pr_node], steps, rest) for pair in material.pairs]
    return _labelled(labels, ["1", "2", rest])


def _by_source(material: Material) -> Groups:
    links = material.case.found
    bits = dict(
        zip(
            zip(links.issues.tolist(), links.prs.tolist(), strict=True),
            links.sources.tolist(),
            strict=True,
        )
    )
    of_pair = [bits.get((pair.issue_node, pair.pr_node), 0) for pair in material.pairs]
    groups: Groups = {
        source: [bool(found >> place & 1) for found in of_pair]
        for place, source in enumerate(LINK_SOURCES)
    }
    groups["no source"] = [found == 0 for found in of_pair]
    return groups


def _by_script(material: Material) -> Groups:
    labels = [script_of(text) for text in material.texts]
    return _labelled(labels, SCRIPTS)


def _by_time_to_pr(material: Material) -> Groups:
    steps = (
        (0, "PR came first"),
        (DAY, "within a day"),
        (7 * DAY, "within a week"),
        (30 * DAY, "within 30 days"),
    )
    rest = "later"
    labels = [
        _step(pr - issue, steps, rest) if issue and pr else UNKNOWN for issue, pr in material.times
    ]
    return _labelled(labels, [*(label for _, label in steps), rest, UNKNOWN])


def _by_year(material: Material) -> Groups:
    labels = [
        str(datetime.fromtimestamp(issue, timezone.utc).year) if issue else UNKNOWN
        for issue, _ in material.times
    ]
    return _labelled(labels, sorted(set(labels)))  # UNKNOWN comes after all digits


def _by_overlap(material: Material) -> Groups:
    steps = ((0.1, "below 0.1"), (0.25, "0.1 to 0.25"), (0.5, "0.25 to 0.5"))
    none, rest = "none", "0.5 or more"
    shared = [
        jaccard(text, title) for text, title in zip(material.texts, material.pr_titles, strict=True)
    ]
    labels = [none if share == 0 else _step(share, steps, rest) for share in shared]
    return _labelled(labels, [none, *(label for _, label in steps), rest])


def _by_body(material: Material) -> Groups:
    steps = ((1, "empty"), (300, "below 300"), (1000, "300 to 999"))
    rest = "1,000 or more"
    told = not material.case.corpus.titles_only
    labels = [
        _step(length, steps, rest) if told and length is not None else UNKNOWN
        for length in material.body_lengths
    ]
    return _labelled(labels, [*(label for _, label in steps), rest, UNKNOWN])


SCRIPTS = ("Latin", "Cyrillic", "CJK", "another script", "mixed", "no letters")
_CJK = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO")


def script_of(text: str) -> str:
    """The script of at least nine in ten of a text's letters, else "mixed": one of `SCRIPTS`.

    >>> [script_of(text) for text in ("Crash on start", "Падает", "死锁", "Падает std::map")]
    ['Latin', 'Cyrillic', 'CJK', 'mixed']
    """
    if text.isascii():
        return "Latin" if any(map(str.isalpha, text)) else "no letters"
    letters = Counter(_script(character) for character in text if character.isalpha())
    if not letters:
        return "no letters"
    script, count = letters.most_common(1)[0]
    return script if count >= MOSTLY * letters.total() else "mixed"


@functools.lru_cache(maxsize=4096)
def _script(letter: str) -> str:
    name = unicodedata.name(letter, "").removeprefix("FULLWIDTH ").removeprefix("HALFWIDTH ")
    if name.startswith("LATIN"):
        return "Latin"
    if name.startswith("CYRILLIC"):
        return "Cyrillic"
    return "CJK" if name.startswith(_CJK) else "another script"


def jaccard(one: str, other: str) -> float:
    """The share of index terms that two texts have in common: |A ∩ B| / |A ∪ B|.

    References to tickets do not count.

    >>> jaccard("Crash on start (#7)", "Fix crash")
    0.25
    """
    a, b = _terms(one), _terms(other)
    return len(a & b) / len(a | b) if a or b else 0.0


def _terms(text: str) -> set[str]:
    return {term for word in words(mask_references(text)) for term in terms(word)}


BREAKDOWNS: tuple[Breakdown, ...] = (
    Breakdown(
        "issues_per_pr",
        "issues per PR",
        "How many issues the gold pairs give the PR: one that fixes several is named after none.",
        _by_issues_of_pr,
    ),
    Breakdown(
        "link_source",
        "link source",
        "Which sources link the asked issue to the PR; a pair counts under each that does.",
        _by_source,
    ),
    Breakdown(
        "script",
        "script of the query",
        "The script of nine in ten letters of the query: models and word lists know some better.",
        _by_script,
    ),
    Breakdown(
        "time_to_pr",
        "time from issue to PR",
        "How long after the issue its PR was opened: an old symptom is often worded otherwise.",
        _by_time_to_pr,
    ),
    Breakdown(
        "year",
        "year of the issue",
        "When the issue was opened: a memory should recall old fixes as well as recent ones.",
        _by_year,
    ),
    Breakdown(
        "overlap",
        "words that query and PR title share",
        "Words in common, as a share of all words of both (Jaccard): with none, only meaning or a "
        "link can lead from one to the other.",
        _by_overlap,
    ),
    Breakdown(
        "body",
        "length of the issue's body",
        "Characters in the issue's body, of which the memory keeps the first 300.",
        _by_body,
    ),
)
"""Every break-down, in the order of reports."""
