"""Files that ``gh`` wrote, or should have: JSON, JSON lines, gzip, UTF-16."""

from __future__ import annotations

import json
from typing import Any

from tests.fuzz.common import expected_errors, must_hold, scratch_file
from tests.fuzz.mutate import json_text as mutate

from fastrecall.corpus import find_links, load_corpus, node_texts
from fastrecall.corpus._json import stream_records
from fastrecall.search.when import day_of

__all__ = ["mutate", "run"]


def run(data: bytes) -> None:
    records: list[Any] | None = None
    path = scratch_file("prs.json", data)
    with expected_errors():
        records = list(stream_records(path))
    try:
        plain = json.loads(data.decode())
    except (ValueError, RecursionError):
        plain = None
    if isinstance(plain, list) and all(isinstance(one, dict) for one in plain):
        must_hold(same(records, plain), "records are not those of the json module")
    for name in ("prs.json", "tickets.jsonl"):
        with expected_errors():
            corpus = load_corpus(
                scratch_file(name, data), window_prs=None, window_issues=None, author_filter=None
            )
            must_hold(len(node_texts(corpus)) == len(corpus) <= len(records or ()), "tickets")
            find_links(corpus)
            for ticket in corpus.tickets:
                must_hold(len(day_of(ticket.created_at)) <= 10, "a day")


def same(records: object, plain: object) -> bool:
    """Equal, where nan equals nan."""
    return json.dumps(records) == json.dumps(plain)
