"""The words of all texts from counted blocks: those that are counted at once."""

from __future__ import annotations

import numpy as np
import pytest

from fastrecall.errors import CacheError
from fastrecall.execution import LocalExecutor
from fastrecall.search import tokens
from fastrecall.search.blocks import counting as module
from fastrecall.search.blocks import joining
from fastrecall.search.blocks.counting import Counting, count_all
from fastrecall.search.bm25 import posting_lists
from fastrecall.search.index.strings import Strings

WORDS = ["crash", "fooBar", "a::b", "死锁", "é", "\ud800x", "😀a", "\uffffb", "w1", "w2", "w3"]


def some_texts(count, seed):
    dice = np.random.default_rng(seed)
    return [" ".join(dice.choice(WORDS, dice.integers(0, 9))) for _ in range(count)]


def counted(fields, folder, **options):
    given = {"weights": {}, "terms": tokens.terms, "mask_references": False, **options}
    return count_all(Counting(fields, folder=folder, memory=10**6, **given), LocalExecutor())


def by_term(lists, terms):
    spans = zip(lists.offsets[:-1], lists.offsets[1:], strict=True)
    return {
        term: (lists.nodes[first:last].tolist(), lists.counts[first:last].tolist())
        for term, (first, last) in zip(terms, spans, strict=True)
    }


@pytest.mark.parametrize("texts_of_block", [1, 3, 16, 17, 100])
@pytest.mark.parametrize("terms_at_once", [1, 2, 4096])
def test_joined_blocks_are_what_is_counted_at_once(
    tmp_path, monkeypatch, texts_of_block, terms_at_once
):
    monkeypatch.setattr(module, "_bytes_to_count", lambda _: 10**6 // (2 * texts_of_block))
    monkeypatch.setattr(joining, "_TERMS_AT_ONCE", terms_at_once)
    fields = {"title": some_texts(17, 1), "body": some_texts(17, 2)}
    options = {"weights": {"title": 2.0}, "terms": tokens.stems}
    blocks = counted(fields, tmp_path, **options)
    assert len(blocks) == -(-17 // texts_of_block)
    found = joining.join_blocks(blocks)
    lists, vocabulary = posting_lists(fields, **options)
    terms = list(Strings(found.text, found.ends))
    assert terms == sorted(vocabulary)
    assert by_term(found.lists, terms) == by_term(lists, vocabulary)
    for name in ("lengths", "weights"):
        wanted, got = getattr(lists, name), getattr(found.lists, name)
        assert got.dtype == wanted.dtype
        np.testing.assert_array_equal(got, wanted)


def test_texts_without_words_have_none(tmp_path):
    found = joining.join_blocks(counted({"text": ["", "  ", ""]}, tmp_path))
    assert found.lists.offsets.tolist() == [0]
    assert found.lists.lengths.tolist() == [[0, 0, 0]]
    assert len(found.text) == len(found.ends) == 0


@pytest.mark.parametrize("damage", ["gone", "cut off", "another"])
def test_a_file_that_is_lost_is_told(tmp_path, damage):
    blocks = counted({"text": some_texts(9, 3)}, tmp_path)
    [file] = tmp_path.iterdir()
    whole = file.read_bytes()
    if damage == "gone":
        file.unlink()
    elif damage == "cut off":
        file.write_bytes(whole[:-3])
    else:
        counted({"text": some_texts(9, 4)}, tmp_path)
    with pytest.raises(CacheError, match="postings-0"):
        joining.join_blocks(blocks)
