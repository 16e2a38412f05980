"""Materials: tickets read from files, the window, links, gold."""

from __future__ import annotations

from fastrecall.corpus.build import make_corpus
from fastrecall.corpus.dataset.write import write_dataset
from fastrecall.corpus.duplicates import Duplicate, find_duplicates
from fastrecall.corpus.gold import (
    GoldDifference,
    GoldRow,
    compare_gold,
    corpus_from_gold,
    gold_csv,
    gold_from_links,
    gold_from_rows,
    links_from_gold,
    make_gold,
    read_gold,
    write_gold,
)
from fastrecall.corpus.history import change_edges, find_mentions, find_reverts
from fastrecall.corpus.links import find_links, own_repository
from fastrecall.corpus.load import corpus_files, corpus_from_records, load_corpus
from fastrecall.corpus.text import QUERY_MODES, node_text, node_texts, query_text
from fastrecall.corpus.window import AUTHOR_FILTER, WINDOW_ISSUES, WINDOW_PRS

__all__ = [
    "AUTHOR_FILTER",
    "QUERY_MODES",
    "WINDOW_ISSUES",
    "WINDOW_PRS",
    "Duplicate",
    "GoldDifference",
    "GoldRow",
    "change_edges",
    "compare_gold",
    "corpus_files",
    "corpus_from_gold",
    "corpus_from_records",
    "find_duplicates",
    "find_links",
    "find_mentions",
    "find_reverts",
    "gold_csv",
    "gold_from_links",
    "gold_from_rows",
    "links_from_gold",
    "load_corpus",
    "make_corpus",
    "make_gold",
    "node_text",
    "node_texts",
    "own_repository",
    "query_text",
    "read_gold",
    "write_dataset",
    "write_gold",
]
