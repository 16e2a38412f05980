"""Hits on real issues and PRs, as an independent implementation counts them (± 1 for near-ties)."""

from __future__ import annotations

from pathlib import Path

import pytest

from fastrecall.corpus import load_corpus
from fastrecall.study import evaluate

ARMS = ("semantic", "semantic_prs", "causal", "causal_uncut")
PUBLISHED = {
    "merged": (316, (192, 213, 304, 304)),
    "mls-protocol": (125, (86, 91, 120, 120)),
    "draft-ietf-tls-esni": (94, (62, 68, 94, 94)),
    "oblivious-http": (63, (44, 49, 61, 61)),
    "tls13-spec": (34, (28, 29, 34, 34)),
}
LEAVE_ONE_OUT = {
    "merged": (192, 202),
    "mls-protocol": (86, 91),
    "draft-ietf-tls-esni": (62, 66),
    "oblivious-http": (44, 45),
    "tls13-spec": (28, 28),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_hits_are_those_of_an_independent_implementation(corpora: Path, name: str) -> None:
    record = evaluate(
        load_corpus(corpora / name), arms=ARMS, protocols=("published", "leave-one-out")
    )
    pairs, hits = PUBLISHED[name]
    published = record["protocols"]["published"]
    assert published["pairs"] == pairs
    found = [published["arms"][arm]["hits"] for arm in ARMS]
    assert found == pytest.approx(hits, abs=1)
    arms = record["protocols"]["leave-one-out"]["arms"]
    found = [arms[arm]["hits"] for arm in ("semantic", "causal")]
    assert found == pytest.approx(LEAVE_ONE_OUT[name], abs=1)


def test_links_that_lead_elsewhere_bring_nothing(corpora: Path) -> None:
    record = evaluate(load_corpus(corpora / "merged"), arms=("semantic", "causal"))
    control = record["protocols"]["shuffled"]["arms"]
    semantic, causal = control["semantic"], control["causal"]
    assert abs(causal["hits"] - semantic["hits"]) <= 0.03 * semantic["pairs"]
