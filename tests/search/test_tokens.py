"""Words and terms: identifiers, numbers, every script, masked references."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastrecall.search.tokens import mask_references, terms, words


def all_terms(text):
    return {term for word in words(text) for term in terms(word)}


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("Crash", ("crash",)),
        ("TLS", ("tls",)),
        ("8446", ("8446",)),
        ("fooBar", ("foobar", "foo", "bar")),
        ("parseHTTPHeader", ("parsehttpheader", "parse", "http", "header")),
        ("snake_case", ("snake_case", "snake", "case")),
        ("__init__", ("__init__", "init")),
        ("sha256", ("sha256", "sha", "256")),
        ("TLS1.3", ("tls1.3", "tls", "1.3")),
        ("Table::ReadRows", ("table::readrows", "table", "readrows", "read", "rows")),
        ("ÄrgerlicheÜbung", ("ärgerlicheübung", "ärgerliche", "übung")),
        ("straße", ("strasse",)),
    ],
)
def test_an_identifier_keeps_the_whole_and_gives_its_parts(word, expected):
    assert terms(word) == expected


def test_words_keep_numbers_and_join_scoped_names_only():
    assert words("a::b fails in 0.6.0-rc1. Next: x.y, end.") == [
        "a::b", "fails", "in", "0.6.0", "rc1", "Next", "x", "y", "end",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Ошибка чтения таблицы", "чтения"),
        ("数据库死锁", "死锁"),
        ("数据库死锁", "锁"),
        ("デッドロックが発生する", "デッドロック"),
        ("ﾃﾞｯﾄﾞﾛｯｸ", "デッドロック"),
        ("교착 상태가 발생한다", "상태"),
        ("การล็อกตารางล้มเหลว", "ล้มเหลว"),
        ("हिन्दी में त्रुटि", "त्रुटि"),
        ("שָׁלוֹם עולם", "עולם"),
        ("خطأ في القراءة", "القراءة"),
        ("Σφάλμα ΑΝΆΓΝΩΣΗΣ", "ανάγνωσης"),
        ("cafe\u0301", "café"),
        ("ＦＵＬＬ width", "full"),
        ("HTTPサーバーが停止", "http"),
    ],
)
def test_a_query_finds_its_word_in_any_script(text, query):
    assert all_terms(query)
    assert all_terms(query) & all_terms(text)


def test_words_with_combining_marks_stay_whole():
    assert words("हिन्दी में") == ["हिन्दी", "में"]


@given(st.text(alphabet="aЖ1_ .:é", max_size=12))
def test_texts_without_marks_are_cut_as_those_with_marks(text):
    assert words(text + " й में") == [*words(text), "й", "में"]


@given(st.text(max_size=40))
def test_every_letter_and_digit_reaches_a_term(text):
    assert bool(all_terms(text)) >= any(c.isalnum() for c in text)


@given(st.text(alphabet="abAB01_:.é", max_size=12))
def test_whole_words_lead_and_terms_are_casefolded(text):
    for word in words(text):
        found = terms(word)
        assert found[0] == word.casefold()
        assert all(term == term.casefold() for term in found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Fixes #12.", " ."),
        ("closed: GH-5 and fixed it", "  and fixed it"),
        ("Resolves o/r#5, see #6", " , see  "),
        ("tlswg/tls13-spec#7 again", "  again"),
        ("GH-26 and gh-27", "  and  "),
        ("see https://github.com/o/r/issues/5#issuecomment-1 now", "see   now"),
        ("(https://github.com/o/r/pull/5)", "( "),
        ("RFC 8446, C# and #pragma", "RFC 8446, C# and #pragma"),
    ],
)
def test_references_to_tickets_are_masked(text, expected):
    assert mask_references(text) == expected
