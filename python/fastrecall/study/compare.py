"""Two records of the same questions, pair by pair."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastrecall.errors import RecordError
from fastrecall.measure.intervals import newcombe_paired
from fastrecall.measure.paired import PairedHits, holm, mcnemar

_OF_MODEL = (
    "revision",
    "sha256",
    "tokenizer_sha256",
    "pooling",
    "max_tokens",
    "query",
    "passage",
    "node_vectors",
)
"""What vectors depend on beside the name of the model."""

RowKey = tuple[str, int, str, int] | tuple[str]
"""What a row asks: (repository, issue, the PR's repository, PR) of tickets, (query) of code."""


def compare(
    first: Mapping[str, Any], second: Mapping[str, Any], *, anyway: bool = False
) -> dict[str, Any]:
    """How *second* differs from *first* on the pairs that both asked.

    For every protocol and arm of both: hits on either side, the difference with its interval
    (Newcombe's paired), exact McNemar p, Holm over all rows, and the pairs that changed sides;
    ``first_alone`` and ``second_alone`` count the pairs that only one of them asked. Of
    code search the pairs are the queries, and a hit is a first answer within the first ten.
    With ``anyway``, records of different corpora or gold pairs are compared on what they share.

    Raises:
        RecordError: other corpus or gold pairs, or nothing in common.
    """
    different = [
        name
        for name in ("fingerprint", "gold_fingerprint")
        if first["corpus"][name] != second["corpus"][name]
    ]
    if different and not anyway:
        what = {"fingerprint": "corpus", "gold_fingerprint": "gold pairs"}
        raise RecordError(
            f"the records are of different {' and '.join(what[name] for name in different)} "
            f"('{first['corpus']['name']}' and '{second['corpus']['name']}'), so their difference "
            "proves nothing; add --anyway to compare the pairs that both asked"
        )
    rows = [
        _arm_row(protocol, arm, first, second)
        for protocol in first["protocols"]
        if protocol in second["protocols"]
        for arm in first["protocols"][protocol]["arms"]
        if arm in second["protocols"][protocol]["arms"]
    ]
    rows = [row for row in rows if row["pairs"]]
    if not rows:
        raise RecordError("the records share no protocol, arm and pair: nothing to compare")
    for row, adjusted in zip(rows, holm([row["mcnemar_p"] for row in rows]), strict=True):
        row["holm_p"] = float(adjusted)
    return {
        "first": _label(first),
        "second": _label(second),
        "settings": _changed_settings(first, second),
        "asked": "pair" if "issue" in first["queries"][0] else "query",
        "rows": rows,
    }


def _arm_row(
    protocol: str, arm: str, first: Mapping[str, Any], second: Mapping[str, Any]
) -> dict[str, Any]:
    before, after = hits_by_pair(first, protocol, arm), hits_by_pair(second, protocol, arm)
    shared = sorted(before.keys() & after.keys())
    won = [key for key in shared if after[key] and not before[key]]
    lost = [key for key in shared if before[key] and not after[key]]
    counts = PairedHits.of([after[key] for key in shared], [before[key] for key in shared])
    title = first["protocols"][protocol]["arms"][arm]["title"]
    if not isinstance(title, str):
        raise TypeError(f"the title of {arm} is no text")
    return {
        "protocol": protocol,
        "arm": arm,
        "title": title,
        "pairs": len(shared),
        "first_alone": len(before) - len(shared),
        "second_alone": len(after) - len(shared),
        "first_hits": sum(before[key] for key in shared),
        "second_hits": sum(after[key] for key in shared),
        "difference": (counts.first - counts.second) / max(len(shared), 1),
        "ci95": list(newcombe_paired(*counts)),
        "mcnemar_p": mcnemar(counts.first, counts.second),
        "won": [_ref(key) for key in won],
        "lost": [_ref(key) for key in lost],
    }


def hits_by_pair(record: Mapping[str, Any], protocol: str, arm: str) -> dict[RowKey, bool]:
    """Whether an arm found each pair that a protocol asked for."""
    return {
        _key(row): row["ranks"][protocol][arm] is not None
        for row in record["queries"]
        if arm in row["ranks"].get(protocol, {})
    }


def _key(row: Mapping[str, Any]) -> RowKey:
    if "issue" not in row:
        return (row["query"],)
    return row["repo"], row["issue"], row.get("pr_repo") or row["repo"], row["pr"]


def _ref(key: RowKey) -> str:
    if len(key) == 1:
        return key[0]
    repo, issue, pr_repo, pr = key
    return f"{repo}#{issue} → {pr_repo if pr_repo != repo else ''}#{pr}"


def _label(record: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "corpus": record["corpus"]["name"],
        "model": record["model"]["id"],
        "fingerprint": record["corpus"]["fingerprint"],
        "gold_fingerprint": record["corpus"]["gold_fingerprint"],
    }


def _changed_settings(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, list[Any]]:
    a, b = _all_settings(first), _all_settings(second)
    return {
        key: [a.get(key), b.get(key)]
        for key in sorted(a.keys() | b.keys())
        if a.get(key) != b.get(key)
    }


def _all_settings(record: Mapping[str, Any]) -> dict[str, Any]:
    model = record["model"]
    settings = {**record["settings"], "model": model["id"]}
    settings |= {f"model {name}": model.get(name) for name in _OF_MODEL}
    if "reasoning" in record:
        reasoning = record["reasoning"]
        told = {**reasoning["settings"], "fusion": reasoning["fusion"]}
        settings |= {f"reasoning {name}": value for name, value in told.items()}
    return settings
